"""TODO elf"""
