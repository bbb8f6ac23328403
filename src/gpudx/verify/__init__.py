"""TODO verify"""
