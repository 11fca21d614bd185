package models

// Recompute runs fn, whose ops are a block: in training, the values inside of the
// block are computed a second time, when the gradients of the block need them, in
// place of being kept until then (Chen et al. 2016, gradient checkpointing). What
// the block hands on is kept. Losses, gradients and dropped elements are the same,
// bit for bit; memory is less and time is more, by about one forward pass.
//
// A block inside of a block is a part of it. In the other modes nothing changes.
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

// Recomputed returns the names of the ops that calls of Recompute made, with the number of the call.
func (b *Builder) Recomputed() map[string]int { return b.recomputed }
