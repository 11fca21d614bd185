package partition

import "github.com/goestimator/goestimator/internal/compiler/graph"

// Missing returns a value that the fetches of a request need and that is still to be fed: the request's feeds are the missing ones.
// The zero Output means that there is none. As in TensorFlow, nodes that other feeds replace count as needed.
func Missing(g *graph.Graph, r Request) (graph.Output, error) {
	pending := map[graph.Output]bool{}
	for _, name := range r.Feeds {
		o, err := r.output(g, name, "feed")
		if err != nil {
			return graph.Output{}, err
		}
		pending[o] = true
	}
	var queue []*graph.Node
	for _, name := range r.Fetches {
		o, err := r.output(g, name, "fetch")
		if err != nil {
			return graph.Output{}, err
		}
		queue = append(queue, o.Node)
	}
	seen := map[*graph.Node]bool{}
	for ; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		if seen[n] {
			continue
		}
		seen[n] = true
		for _, in := range n.Inputs {
			if pending[in] {
				return in, nil
			}
			queue = append(queue, in.Node)
		}
		queue = append(queue, n.Control...)
	}
	return graph.Output{}, nil
}
