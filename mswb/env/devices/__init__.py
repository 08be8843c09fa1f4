"""Live counters of this host and its accelerators.

``sampler.Sampler().sample()`` gives one :class:`mswb.env.devices.sample.Sample`; :mod:`mswb.env.devices.history` keeps
the last two minutes of them. What is not known is None in all of these, never 0, and nothing here raises.
"""
