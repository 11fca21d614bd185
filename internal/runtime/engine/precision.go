package engine

// Precision is how an accelerator computes with float32 values.
type Precision uint8

const (
	// Float32 computes in float32.
	Float32 Precision = iota
	// TF32 lets products and convolutions round their operands to tf32, 10 bits of fraction.
	TF32
	// BF16Mixed has activations and the operands of products and convolutions in bfloat16. Variables, their gradients
	// and ops that need the precision stay float32.
	BF16Mixed
)

// String returns p's name in a RunConfig.
func (p Precision) String() string {
	return [...]string{"float32", "tf32", "bf16_mixed"}[min(p, BF16Mixed)]
}

// Precision returns the program's precision: always Float32 on devices that are no accelerators.
func (p *Program) Precision() Precision { return p.precision }
