package models

// Recompute runs fn, whose ops form a block. In training, the values inside the block
// are not kept, but computed a second time when the block's gradients need them (Chen
// et al. 2016, gradient checkpointing). The outputs of the block are kept. Losses,
// gradients and dropped elements are the same, bit for bit. Training needs less memory,
// and more time, by about one forward pass.
//
// A block inside a block is a part of it. Recompute has no effect in other modes.
func (b *Builder) Recompute(fn func()) {
	if b.block > 0 {
		fn()
		return
	}
	b.blocks++
	b.block = b.blocks
	defer func() { b.block = 0 }()
	fn()
}

// Recomputed returns the number of the call of Recompute for each op, by name, made in one.
func (b *Builder) Recomputed() map[string]int { return b.recomputed }
