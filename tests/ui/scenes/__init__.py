"""The scenes of the snapshots: each puts the workbench into one state, from literals only.

``stage`` how a scene is played · ``launch``, ``inventory``, ``machine``, ``tables``, ``logs``, ``form``, ``curves``,
``shell`` the scenes · ``all_scenes`` every one by its name.
"""
