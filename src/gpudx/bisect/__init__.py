"""TODO bisect"""
