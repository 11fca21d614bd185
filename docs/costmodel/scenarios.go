package main

import (
	"bytes"
	"fmt"

	"github.com/goestimator/goestimator/internal/report/costmodel"
	"github.com/goestimator/goestimator/internal/report/plot"
)

// scenario is a job for one to many workers; there is one parameter
// server for every four workers.
type scenario struct {
	name string
	job  costmodel.Job
}

// The network of the scenarios: 10 Gbit/s, as is usual in a data centre.
var network = costmodel.Network{Latency: 50e-6, Bandwidth: 1.25e9}

var scenarios = []scenario{
	{"convolutional network: 100 MB, 250 ms", costmodel.Job{Compute: 0.25, Forward: 0.33, Jitter: 0.05, Dense: 100e6, Buckets: 4, Overlap: true, Add: 5e9, Apply: 4e9}},
	{"small network: 2 MB, 5 ms", costmodel.Job{Compute: 5e-3, Forward: 0.33, Jitter: 0.1, Dense: 2e6, Buckets: 1, Add: 5e9, Apply: 4e9}},
	{"embeddings: 2 MB and rows of 1 MB, 20 ms", costmodel.Job{Compute: 20e-3, Forward: 0.33, Jitter: 0.3, Dense: 2e6, Rows: 1e6, Buckets: 1, Add: 5e9, Apply: 2e9}},
}

var strategies = []costmodel.Strategy{costmodel.RingStrategy, costmodel.SynchronousStrategy, costmodel.AsynchronousStrategy}

func cluster(workers int) costmodel.Cluster {
	return costmodel.Cluster{Network: network, Workers: workers, Servers: max(workers/4, 1)}
}

// write writes the table of a scenario and returns its plot: lines for the formulas,
// rings for the simulation.
func (s scenario) write(w *bytes.Buffer, steps int) (plot.Panel, error) {
	p := plot.Panel{Title: s.name}
	fmt.Fprintf(w, "\n### %s\n\n| workers | strategy | ms per step | simulated | steps/s of all workers | simulated | computing | bound by |\n|--:|---|--:|--:|--:|--:|--:|---|\n", s.name)
	rows := map[int]string{}
	for _, kind := range strategies {
		line := plot.Line{Name: kind.String()}
		for n := 1; n <= 512; n *= 2 {
			formula, err := costmodel.Predict(kind, cluster(n), s.job)
			if err != nil {
				return p, err
			}
			line.Points = append(line.Points, [2]float64{float64(n), formula.Rate})
			if n != 8 && n != 64 && n != 512 {
				continue
			}
			seen, err := costmodel.Simulate(kind, cluster(n), s.job, steps, 1)
			if err != nil {
				return p, err
			}
			line.Rings = append(line.Rings, [2]float64{float64(n), seen.Rate})
			rows[n] += fmt.Sprintf("| %d | %v | %.3g | %.3g | %.4g | %.4g | %.0f %% | %s |\n", n, kind,
				formula.Step*1e3, seen.Step*1e3, formula.Rate, seen.Rate, formula.Efficiency(s.job)*100, formula.Bound)
		}
		p.Lines = append(p.Lines, line)
	}
	for _, n := range []int{8, 64, 512} {
		w.WriteString(rows[n])
	}
	return p, nil
}
