"""TODO demos"""
