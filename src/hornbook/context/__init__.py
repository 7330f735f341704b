"""What a step sees: sized, assembled whole or refused, with a receipt.

Assembling is pure; what it is made from is gathered from the graph, plans and git beside it.
"""
