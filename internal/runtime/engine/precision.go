package engine

// Precision is how an accelerator computes with float32 values.
type Precision uint8

const (
	// Float32 computes in float32.
	Float32 Precision = iota
	// TF32 lets products and convolutions round their operands to tf32, 10 bits of fraction.
	TF32
	// BF16Mixed has activations and the operands of products and convolutions in bfloat16; variables, their gradients
	// and what loses by it stay float32.
	BF16Mixed
)

// String returns the name that a RunConfig has for it.
func (p Precision) String() string {
	return [...]string{"float32", "tf32", "bf16_mixed"}[min(p, BF16Mixed)]
}

// Precision returns what the program computes with: Float32 on devices that are no accelerators, whatever was asked for.
func (p *Program) Precision() Precision { return p.precision }
