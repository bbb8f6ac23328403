"""TODO investigate"""
