package inputs

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
	"github.com/goestimator/goestimator/runconfig/violation"
	"github.com/goestimator/goestimator/tensor"
)

// Mixing blends each example of a batch with another example of the batch, including their labels.
type Mixing struct {
	// Mixup is the alpha of Zhang et al., "mixup: Beyond Empirical Risk Minimization" (2018): features and labels become
	// lambda x + (1 - lambda) x', where lambda is drawn from Beta(alpha, alpha) for each example. 0: no mixup.
	Mixup float64
	// CutMix is the alpha of Yun et al., "CutMix" (2019): a box with 1 - lambda of the image's area comes from the other image, and labels are
	// mixed by area. 0: no CutMix. If both are set, each batch uses one of them, with equal probability.
	CutMix float64
	// Classes is the number of classes of labels that are class ids. With 2 classes, an id becomes the probability of the second, float32; with
	// more, one float32 per class. Float labels are mixed directly, and do not need Classes.
	Classes int
	Seed    int64 // decides partners and shares, with the epoch and the row
}

// Mapper returns a Mapper that mixes the rows of each record. Use it after Batch.
func (m Mixing) Mapper() Mapper {
	out := Mapper{Name: fmt.Sprintf("mix(%v,%v,%d)", m.Mixup, m.CutMix, m.Classes), Seed: m.Seed}
	out.Schema = func(in *Schema) (*Schema, error) {
		of, err := m.of(in)
		if err != nil {
			return nil, err
		}
		s, _, err := of.planAll(in)
		return s, err
	}
	out.Map = func(ctx context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
		s, err := SchemaFromArrow(in.Schema())
		if err != nil {
			return nil, err
		}
		of, err := m.of(s)
		if err != nil {
			return nil, err
		}
		return of.mapper().Map(ctx, in, rows)
	}
	return out
}

// of returns the mixing of the columns of a schema.
func (m Mixing) of(s *Schema) (columnMap, error) {
	if !(m.Mixup >= 0 && m.Mixup <= maxAlpha && m.CutMix >= 0 && m.CutMix <= maxAlpha) || m.Mixup+m.CutMix == 0 {
		return columnMap{}, fmt.Errorf("the alphas of mixup and cutmix must lie in [0, %d], one of them above 0, got %v and %v", maxAlpha, m.Mixup, m.CutMix)
	}
	d := &mixDraw{Mixing: m}
	for _, c := range s.columns {
		if c.Role == Feature && isImage(c) {
			if d.h > 0 && (c.Shape[0] != d.h || c.Shape[1] != d.w) && m.CutMix > 0 {
				return columnMap{}, fmt.Errorf("cutmix needs images of one size, the data has %d x %d and %s", d.h, d.w, c)
			}
			d.h, d.w = c.Shape[0], c.Shape[1]
		}
	}
	if d.h == 0 && m.CutMix > 0 {
		return columnMap{}, fmt.Errorf("no feature is an image [height, width, channels] of uint8 or float32 for cutmix: the data has %s", s)
	}
	return columnMap{plan: d.plan}, nil
}

// maxAlpha bounds the alphas: beyond it, lambda is always about one half.
const maxAlpha = 1000

// mixDraw draws partners and shares. h and w are the size of the images, 0 if there are none.
type mixDraw struct {
	Mixing
	h, w int
}

// plan returns the mixed column and the function that computes it.
func (d *mixDraw) plan(c Column) (Column, columnFunc, error) {
	c.Default = nil // predictions use unmixed data
	switch {
	case c.Role == Label && !c.DType.Float():
		return d.planIDs(c)
	case c.Role != Label && c.Role != Weight && !isImage(c) && d.CutMix > 0:
		return c, nil, fmt.Errorf("cutmix is for images alone, this is %s: leave the column or cutmix out", c)
	case isImage(c):
		im := image{h: c.Shape[0], w: c.Shape[1], pixel: c.Shape[2] * c.DType.Size()}
		return c, func(dst []byte, src *tensor.Tensor, rows Rows) error { return d.mixImages(im, dst, src, rows) }, nil
	case c.Ragged || c.DType != tensor.Float32 && c.DType != tensor.Float64:
		return c, nil, fmt.Errorf("mixup needs dense columns of the types float32 or float64, or images, this is %s: leave the column or mixup out", c)
	}
	return c, d.mixFloats, nil
}

// planIDs turns class ids into probabilities.
func (d *mixDraw) planIDs(c Column) (Column, columnFunc, error) {
	if c.Ragged || c.Size() != 1 || c.DType == tensor.String || c.DType == tensor.Bool {
		return c, nil, fmt.Errorf("labels are mixed that are one class id, or floats, this is %s", c)
	}
	if d.Classes < 2 {
		return c, nil, fmt.Errorf("labels %s are class ids: mixing them needs the number of classes, 2 or more, got %d: set augment.classes", c, d.Classes)
	}
	width := d.Classes
	if c.DType, c.Shape = tensor.Float32, []int{d.Classes}; d.Classes == 2 {
		c.Shape, width = nil, 1
	}
	return c, func(dst []byte, src *tensor.Tensor, rows Rows) error {
		out := float32s(dst)
		clear(out)
		shares := d.draw(src.Len(), rows)
		for i, s := range shares {
			for k, row := range [2]int{i, s.partner} {
				id, share := src.Float(row), [2]float32{s.own, 1 - s.own}[k]
				switch {
				case !(id >= 0 && id < float64(d.Classes)):
					return &RowError{Column: c.Name, Row: int64(row), InBatch: true, Err: fmt.Errorf("label %v: expected 0 to %d: correct it or set augment.classes", id, d.Classes-1)}
				case d.Classes == 2:
					out[i] += float32(id) * share
				default:
					out[i*width+int(id)] += share
				}
			}
		}
		return nil
	}, nil
}

// exampleMix describes how an example is mixed.
type exampleMix struct {
	partner  int
	own      float32 // its own share of the label
	cut      bool
	y, x     int // the box that comes from the partner
	yto, xto int
}

// draw returns how each of n examples is mixed. The result is the same for all columns of a record.
func (d *mixDraw) draw(n int, rows Rows) []exampleMix {
	out := make([]exampleMix, n)
	if n == 0 {
		return out
	}
	whole := splitmix.Source(rows.Seed(0))
	cut := d.CutMix > 0 && (d.Mixup == 0 || whole.Next()>>63 == 1)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		k := whole.Intn(i + 1)
		order[i], order[k] = order[k], order[i]
	}
	for i := range out {
		rnd := splitmix.Source(rows.Seed(i))
		_ = rnd.Next() // the first number of row 0 was used for the whole batch
		m := exampleMix{partner: order[i], cut: cut}
		if m.own = float32(beta(&rnd, d.Mixup)); cut {
			m.box(&rnd, beta(&rnd, d.CutMix), d.h, d.w)
		}
		if m.partner == i {
			m.own = 1
		}
		out[i] = m
	}
	return out
}

// box draws a box with 1 - lambda of the area, clipped at the edges. It sets own to the share of the area outside the box.
func (m *exampleMix) box(rnd *splitmix.Source, lambda float64, h, w int) {
	side := math.Sqrt(1 - lambda)
	bh, bw := int(float64(h)*side), int(float64(w)*side)
	y, x := rnd.Intn(h), rnd.Intn(w)
	m.y, m.yto = max(y-bh/2, 0), min(y-bh/2+bh, h)
	m.x, m.xto = max(x-bw/2, 0), min(x-bw/2+bw, w)
	m.own = 1 - float32((m.yto-m.y)*(m.xto-m.x))/float32(h*w)
}

func (d *mixDraw) mixImages(im image, dst []byte, src *tensor.Tensor, rows Rows) error {
	size := im.h * im.w * im.pixel
	for i, m := range d.draw(src.Len()/(size/src.DType.Size()), rows) {
		out, own, other := dst[i*size:(i+1)*size], src.Bytes[i*size:(i+1)*size], src.Bytes[m.partner*size:(m.partner+1)*size]
		switch {
		case m.cut:
			copy(out, own)
			for y := m.y; y < m.yto; y++ {
				at := (y*im.w + m.x) * im.pixel
				copy(out[at:at+(m.xto-m.x)*im.pixel], other[at:])
			}
		case src.DType == tensor.Uint8:
			for k := range out {
				out[k] = byte(float32(own[k])*m.own + float32(other[k])*(1-m.own) + 0.5)
			}
		default:
			blend(float32s(out), float32s(own), float32s(other), m.own)
		}
	}
	return nil
}

// mixFloats mixes features, labels and weights that are floats.
func (d *mixDraw) mixFloats(dst []byte, src *tensor.Tensor, rows Rows) error {
	if len(src.Shape) == 0 || src.Shape[0] == 0 {
		return nil
	}
	n := src.Shape[0]
	each := src.Len() / n
	for i, m := range d.draw(n, rows) {
		if src.DType == tensor.Float32 {
			x := tensor.Values[float32](src)
			blend(float32s(dst)[i*each:(i+1)*each], x[i*each:], x[m.partner*each:], m.own)
			continue
		}
		x := tensor.Values[float64](src)
		blend(arrow.Float64Traits.CastFromBytes(dst)[i*each:(i+1)*each], x[i*each:], x[m.partner*each:], float64(m.own))
	}
	return nil
}

func blend[T float32 | float64](out, own, other []T, share T) {
	for k := range out {
		out[k] = own[k]*share + other[k]*(1-share)
	}
}

// beta draws from Beta(alpha, alpha); it is 1 for alpha 0.
func beta(rnd *splitmix.Source, alpha float64) float64 {
	if alpha == 0 {
		return 1
	}
	x, y := logGamma(rnd, alpha), logGamma(rnd, alpha)
	return 1 / (1 + math.Exp(y-x))
}

// logGamma draws the logarithm of a Gamma(alpha, 1) variate, by Marsaglia and Tsang (2000).
func logGamma(rnd *splitmix.Source, alpha float64) float64 {
	boost := 0.0
	if alpha < 1 {
		boost = math.Log(unit(rnd)) / alpha
		alpha++
	}
	d := alpha - 1.0/3
	for {
		x := math.Sqrt(-2*math.Log(unit(rnd))) * math.Cos(2*math.Pi*unit(rnd)) // normally distributed, by Box and Muller
		v := 1 + x/math.Sqrt(9*d)
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(unit(rnd)) < x*x/2+d-d*v+d*math.Log(v) {
			return boost + math.Log(d*v)
		}
	}
}

// unit draws a number in (0, 1].
func unit(rnd *splitmix.Source) float64 { return (float64(rnd.Next()>>11) + 1) / (1 << 53) }

// Mixes reports whether labels are mixed.
func (g AugmentSpec) Mixes() bool { return g.Mixup > 0 || g.CutMix > 0 }

func (g AugmentSpec) validateMixing(vs *violation.List) {
	alpha := fmt.Sprintf("expected 0 to %d", maxAlpha)
	vs.Require(g.Mixup >= 0 && g.Mixup <= maxAlpha, "augment.mixup", g.Mixup, alpha)
	vs.Require(g.CutMix >= 0 && g.CutMix <= maxAlpha, "augment.cutmix", g.CutMix, alpha)
	vs.Require(g.Classes >= 0, "augment.classes", g.Classes, "expected 2 or more")
	vs.Require(g.Classes == 0 || g.Mixes(), "augment.classes", g.Classes, "expected none without mixup or cutmix")
	vs.Require(g.RandAugment >= 0 && g.RandAugment <= maxRandOps, "augment.rand_augment", g.RandAugment, fmt.Sprintf("expected 0 to %d", maxRandOps))
	vs.Require(g.Magnitude >= 0 && g.Magnitude <= mostMagnitude, "augment.magnitude", g.Magnitude, fmt.Sprintf("expected 0 to %d", mostMagnitude))
	vs.Require(g.Magnitude == 0 || g.RandAugment > 0, "augment.magnitude", g.Magnitude, "expected none without rand_augment")
}
