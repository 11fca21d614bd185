package costmodel

import "math"

// Synchronous predicts synchronous training with parameter servers: all workers push, the
// servers apply the sum of the first Workers-Backup, all workers pull.
func Synchronous(c Cluster, j Job) Prediction {
	n, used := float64(c.Workers), float64(c.Workers-j.Backup)
	wait := j.straggle(c.Workers-j.Backup, c.Workers)
	bytes := j.Dense + j.Rows
	arrive, apply := c.spread(bytes, used), per(bytes/float64(c.Servers), j.Apply)
	// Applying overlaps with receiving: the time is the slower of the two, plus one message of the other.
	single := per(bytes/float64(c.Servers), c.Bandwidth)
	latency := c.latency(n * float64(c.Servers))
	push := 2*latency + max(arrive+apply, single+used*apply)
	pull := 2*latency + c.spread(bytes, n)
	p := Prediction{Step: wait + push + pull, Exposed: push + pull}
	p.Rate = used / p.Step
	c.served(j, &p, used*apply)
	return p
}

// Asynchronous predicts asynchronous training with parameter servers. The rate is the lower
// of two: the limit of the busiest shared resource, and the rate of the workers on their
// own. Near the point where these are equal, queues reduce it by up to a third; Simulate
// shows this.
func Asynchronous(c Cluster, j Job) Prediction {
	n, s := float64(c.Workers), float64(c.Servers)
	bytes := j.Dense + j.Rows
	alone := j.Compute + 4*c.latency(s) + 2*c.spread(bytes, 1) + per(bytes/s, j.Apply)
	p := Prediction{Rate: n / alone}
	if c.Cores > 0 {
		p.Rate = math.Min(p.Rate, float64(c.Cores)/(4*s*c.Latency))
	}
	for _, each := range []float64{per(bytes, s*c.Bandwidth), per(bytes, s*j.Apply), per(2*bytes, c.Shared)} {
		if each > 0 {
			p.Rate = math.Min(p.Rate, 1/each)
		}
	}
	p.Step = n / p.Rate
	p.Exposed = p.Step - j.Compute
	c.served(j, &p, n*per(bytes/s, j.Apply))
	return p
}

// spread is the time in which that many workers each move bytes to or from all servers.
func (c Cluster) spread(bytes, workers float64) float64 {
	return max(per(bytes, c.Bandwidth), per(workers*bytes/float64(c.Servers), c.Bandwidth), per(workers*bytes, c.Shared))
}

// served completes a prediction with servers, of either kind.
func (c Cluster) served(j Job, p *Prediction, apply float64) {
	n := float64(c.Workers)
	p.WorkerBytes = j.Dense + j.Rows
	p.ServerBytes = n * p.WorkerBytes / float64(c.Servers)
	p.Bound = bound(*p, j, map[string]float64{
		"latency": 4 * c.latency(n*float64(c.Servers)), "worker link": 2 * per(p.WorkerBytes, c.Bandwidth), "server link": 2 * per(p.ServerBytes, c.Bandwidth),
		"shared link": per(2*n*p.WorkerBytes, c.Shared), "server update": apply,
	})
}

// bound names the largest part of a step: computing if it takes longer than the rest, otherwise the largest part of the rest.
func bound(p Prediction, j Job, parts map[string]float64) string {
	name, most := "compute", 0.0
	if p.Exposed <= j.Compute {
		if p.Step-p.Exposed > 1.5*j.Compute {
			return "stragglers"
		}
		return name
	}
	for _, part := range []string{"server link", "worker link", "shared link", "server update", "adding", "latency"} {
		if parts[part] > most {
			name, most = part, parts[part]
		}
	}
	return name
}
