"""TODO facts.order"""
