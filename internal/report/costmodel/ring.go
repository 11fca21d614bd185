package costmodel

// Ring predicts synchronous training with ring all-reduce; sparse gradients are
// all-gathered after the dense ones.
func Ring(c Cluster, j Job) Prediction {
	n := float64(c.Workers)
	slowest := j.straggle(c.Workers, c.Workers)
	end := slowest
	if c.Workers > 1 {
		end = 0
		for k := range j.buckets() {
			end = max(end, j.ready(k, slowest)) + c.allReduce(j)
		}
		end = max(end, slowest) + c.allGather(j.Rows)
	}
	p := Prediction{Step: end, Rate: n / end, Exposed: end - slowest}
	if c.Workers > 1 {
		p.WorkerBytes = 2*(n-1)/n*j.Dense + (n-1)*j.Rows
		if j.direct(c.Workers) {
			p.WorkerBytes = (n - 1) * (j.Dense + j.Rows)
		}
	}
	p.Bound = c.ringBound(j, p)
	return p
}

// allReduce is the time of one bucket: 2(n-1) rounds. In each round every worker sends
// one n-th of it to the next worker; in half of the rounds it adds the received part. A
// small bucket takes one round instead, in which every worker sends it to all others.
func (c Cluster) allReduce(j Job) float64 {
	bytes, n := j.Dense/float64(j.buckets()), float64(c.Workers)
	switch {
	case bytes == 0:
		return 0
	case j.direct(c.Workers):
		return c.round(n-1, (n-1)*bytes) + (n-1)*per(bytes, j.Add)
	}
	return 2*(n-1)*c.round(1, bytes/n) + (n-1)*per(bytes/n, j.Add)
}

// allGather is the time of n-1 rounds; in each, every worker sends one worker's rows.
func (c Cluster) allGather(bytes float64) float64 {
	if bytes == 0 {
		return 0
	}
	return float64(c.Workers-1) * c.round(1, bytes)
}

// round is the time for every worker to send bytes in that many messages.
func (c Cluster) round(messages, bytes float64) float64 {
	n := float64(c.Workers)
	return c.latency(n*messages) + max(per(bytes, c.Bandwidth), per(n*bytes, c.Shared))
}

func (c Cluster) ringBound(j Job, p Prediction) string {
	n := float64(c.Workers)
	rounds := 2 * (n - 1) * float64(j.buckets())
	if j.Rows > 0 {
		rounds += n - 1
	}
	latency, shared := rounds*c.latency(n), per(n*p.WorkerBytes, c.Shared)
	wire, adding := per(p.WorkerBytes, c.Bandwidth), per((n-1)/n*j.Dense, j.Add)
	return bound(p, j, map[string]float64{"latency": latency, "worker link": wire, "shared link": shared, "adding": adding})
}
