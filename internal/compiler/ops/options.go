package ops

func (d *Def) state(s State) *Def { d.State = s; return d }

func (d *Def) sameShape() *Def { d.Shape = SameShape; return d }

func (d *Def) broadcast() *Def { d.Shape = Broadcast; return d }

func (d *Def) precision(p Precision) *Def { d.Precision = p; return d }

func (d *Def) heavy() *Def { d.Heavy = true; return d }

func (d *Def) grows() *Def { d.Grows = true; return d }

func (d *Def) opaque() *Def { d.Opaque = true; return d }

func (d *Def) lists() *Def { d.Lists = true; return d }

func (d *Def) byShape() *Def { d.ByShape = true; return d }

func (d *Def) onnx(operator string) *Def { d.Onnx = operator; return d }

func (d *Def) float(f func(x float64) float64) *Def { d.Element.Float = f; return d }

func (d *Def) cuda(text, kinds string) *Def { d.Element.CUDA, d.Element.Kinds = text, kinds; return d }

func (d *Def) cudaInts(text string) *Def { d.Element.CUDAInts = text; return d }

// libm names the op's function of one float in C's math library and in CUDA.
func (d *Def) libm(name string) *Def {
	d.Element.Libm = name
	return d.cuda(name+"_(%1)", "f")
}
