"""python -m gpudx.cli"""

from gpudx.cli import main

main()
