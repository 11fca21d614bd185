// Package pytorch reads state dicts written by torch.save: ZIP archives, which PyTorch writes
// since version 1.6, and the older streams of pickles. Sources: torch/serialization.py,
// torch/_utils.py, and Python's Lib/pickletools.py for the opcodes.
//
// A pickle is a program for a Python virtual machine, and may call any function. The machine
// here calls none of Python's: it knows the names of the few functions that make tensors and dicts, and refuses
// all others by name. It builds numbers, texts, lists, dicts and descriptions of tensors,
// within the limits of machine.go.
package pytorch
