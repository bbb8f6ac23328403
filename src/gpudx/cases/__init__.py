"""TODO cases"""
