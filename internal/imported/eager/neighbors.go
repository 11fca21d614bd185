package eager

import (
	"fmt"
	"github.com/goestimator/goestimator/internal/runtime/topn"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// clusterOps work on clusters of points.
var clusterOps = map[*ops.Def]maker{
	ops.NearestNeighbors: plain(nearestNeighbors),
}

// neighbor is a center near a point.
type neighbor struct {
	center   int
	distance float32
}

// nearer orders neighbors by distance. NaN compares equal to any distance; then the lower center is nearer.
func nearer(a, b neighbor) bool {
	return a.distance < b.distance || !(b.distance < a.distance) && a.center < b.center
}

// nearestOne returns the nearest neighbor, or the first one at distance NaN if there is any.
func nearestOne(near []neighbor) (best neighbor) {
	best = near[0]
	for _, v := range near[1:] {
		if v.distance < best.distance || v.distance != v.distance && best.distance == best.distance {
			best = v
		}
	}
	return best
}

// nearest returns the k nearest neighbors, in order.
func nearest(near []neighbor, k int) []neighbor {
	switch k {
	case 0:
		return nil
	case 1:
		return []neighbor{nearestOne(near)}
	}
	top := topn.New(k, nearer)
	for _, v := range near {
		top.Push(v)
	}
	return top.Extract()
}

// nearestNeighbors finds the k centers nearest to each point, the nearest first, and their squared distances.
func nearestNeighbors(c call) error {
	points, centers := c.t(0), c.t(1)
	if points.DType != tensor.Float32 || centers.DType != tensor.Float32 || len(points.Shape) != 2 || len(centers.Shape) != 2 || points.Shape[1] != centers.Shape[1] {
		return fmt.Errorf("points and centers: expected float32 matrices of as many columns, got shapes %v and %v", points.Shape, centers.Shape)
	}
	k, err := integer("k", c.t(2))
	if err != nil {
		return err
	}
	if c.t(2).DType != tensor.Int64 || k < 0 {
		return fmt.Errorf("k must be a non-negative int64 scalar, got %d", k)
	}
	if points.Shape[0] == 0 {
		return fmt.Errorf("Expected points.rows() > 0.")
	}
	n, m, width := points.Shape[0], centers.Shape[0], points.Shape[1]
	k = min(k, m)
	ids, err := outputOf[int64](c, 0, n, k)
	if err != nil {
		return err
	}
	distances, err := outputOf[float32](c, 1, n, k)
	if err != nil {
		return err
	}
	if err := c.room(m+2*(k+1), 24); err != nil {
		return err
	}
	norms, products, near := make([]float32, m), make([]float32, m), make([]neighbor, m)
	p, q := tensor.Values[float32](points), tensor.Values[float32](centers)
	for j := range norms {
		norms[j] = squares(q[j*width : (j+1)*width])
	}
	for i := range n {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		point := p[i*width : (i+1)*width]
		clear(products)
		dense(product2{m: 1, n: m, k: width, transB: true}, products, point, q)
		own := squares(point)
		for j, v := range products {
			near[j] = neighbor{j, max(own+norms[j]-2*v, 0)}
		}
		for j, v := range nearest(near, k) {
			ids[i*k+j], distances[i*k+j] = int64(v.center), v.distance
		}
	}
	return nil
}

func squares(v []float32) float32 {
	sum := float32(0)
	for _, x := range v {
		sum += float32(x * x)
	}
	return sum
}
