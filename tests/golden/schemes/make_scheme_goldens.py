#!/usr/bin/env python3
"""Writes a small checkpoint of every naming scheme, each in a folder of its own,
and what its family makes of some vectors. ../README.md says more.

    /usr/bin/python3 tests/golden/schemes/make_scheme_goldens.py
"""

import sys

sys.dont_write_bytecode = True

import bert_family  # noqa: E402
import decoders  # noqa: E402
import encoder_decoders  # noqa: E402
import formulas  # noqa: E402
import keras_family  # noqa: E402
import torch_modules  # noqa: E402
import vision_family  # noqa: E402

formulas.check()
for family in (torch_modules, bert_family, vision_family, keras_family, encoder_decoders,
               decoders):
    family.make()
