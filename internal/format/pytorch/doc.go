// Package pytorch reads state dicts that torch.save wrote: ZIP archives, which PyTorch writes
// since version 1.6, and the streams of pickles before them. Sources: torch/serialization.py,
// torch/_utils.py, and Python's Lib/pickletools.py for the opcodes.
//
// A pickle is a program for a machine of Python's, which may call any function. The machine
// here calls none: it knows the few functions that make tensors and dicts by name, and refuses
// all others by their names. It builds numbers, texts, lists, dicts and descriptions of tensors,
// as many as fit in the limits of machine.go.
package pytorch
