"""The marketplace as tests run it: its clock can be moved, faults come on order, and people act on order at `/test/`.

None of it is in the product. A server or command that is started with the settings here has this app too, which takes
its place where the product asks the time, answers its API, sends notifications and makes assignments. `Fault.Kind` in
models.py says which faults there are: they come one after the other (a script), or each with a probability (a storm).
"""
