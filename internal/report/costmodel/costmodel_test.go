package costmodel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// fast is a network with 10 Gbit/s and a model of 100 MB.
func fast(workers, servers int) (Cluster, Job) {
	return Cluster{Network{Latency: 50e-6, Bandwidth: 1.25e9}, workers, servers},
		Job{Compute: 0.1, Forward: 0.3, Dense: 100e6, Buckets: 4}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s: %v, expected %v within %v", what, got, want, tolerance)
	}
}

func predict(t *testing.T, s Strategy, c Cluster, j Job) Prediction {
	t.Helper()
	p, err := Predict(s, c, j)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func simulate(t *testing.T, s Strategy, c Cluster, j Job) Simulated {
	t.Helper()
	got, err := Simulate(s, c, j, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestByHand(t *testing.T) {
	c, j := fast(4, 2)
	p := predict(t, RingStrategy, c, j)
	near(t, "ring", p.Step, 0.1+4*6*(50e-6+100e6/16/1.25e9), 1e-9)
	near(t, "ring bytes", p.WorkerBytes, 150e6, 1e-9)
	// Each of two servers gets half of the model from each of four workers: 0.16 s, twice.
	p = predict(t, SynchronousStrategy, c, j)
	near(t, "synchronous", p.Step, 0.1+2*0.16+4*50e-6, 1e-9)
	near(t, "server bytes", p.ServerBytes, 200e6, 1e-9)
	p = predict(t, AsynchronousStrategy, c, j)
	near(t, "asynchronous", p.Rate, 4/(0.1+2*0.08+4*50e-6), 1e-9)
	c.Workers = 64
	p = predict(t, AsynchronousStrategy, c, j)
	near(t, "asynchronous, many", p.Rate, 2*1.25e9/100e6, 1e-9)
	if p.Bound != "server link" {
		t.Errorf("bound by %s, expected the server link", p.Bound)
	}
}

func TestFormulasAgreeWithTheSimulation(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 8, 64} {
		for name, change := range map[string]func(*Cluster, *Job){
			"plain":    func(*Cluster, *Job) {},
			"overlap":  func(_ *Cluster, j *Job) { j.Overlap = true },
			"direct":   func(_ *Cluster, j *Job) { j.Dense, j.Direct = 40e3, 16e3 },
			"small":    func(c *Cluster, j *Job) { c.Cores, j.Compute, j.Dense, j.Buckets = 2, 1e-4, 1e3, 1 },
			"rows":     func(_ *Cluster, j *Job) { j.Dense, j.Rows = 1e6, 2e6 },
			"add":      func(_ *Cluster, j *Job) { j.Add, j.Apply = 5e9, 2e9 },
			"loopback": func(c *Cluster, _ *Job) { c.Shared, c.Cores = 1.25e9, 2 },
		} {
			c, j := fast(workers, 2)
			change(&c, &j)
			for _, s := range []Strategy{RingStrategy, SynchronousStrategy} {
				p, got := predict(t, s, c, j), simulate(t, s, c, j)
				tolerance := 0.1
				if name == "small" { // all time is message handling, which overlaps a little
					tolerance = 0.2
				}
				near(t, name+" "+s.String()+" step", p.Step, got.Step, tolerance)
			}
			// The rate of the workers on their own, and the limit of each resource, bound
			// the rate from above; queues reduce it further.
			p, got := predict(t, AsynchronousStrategy, c, j), simulate(t, AsynchronousStrategy, c, j)
			if ratio := got.Rate / p.Rate; ratio > 1.1 || ratio < 0.6 {
				t.Errorf("%s, %d workers, asynchronous: %v steps/s simulated, %v predicted", name, workers, got.Rate, p.Rate)
			}
		}
	}
}

func TestSimulatedBytes(t *testing.T) {
	c, j := fast(5, 2)
	j.Rows = 1e6
	near(t, "ring", simulate(t, RingStrategy, c, j).Bytes, predict(t, RingStrategy, c, j).WorkerBytes, 0.05)
	near(t, "ps", simulate(t, AsynchronousStrategy, c, j).Bytes, 2*predict(t, AsynchronousStrategy, c, j).WorkerBytes, 0.2)
}

func TestStragglers(t *testing.T) {
	c, j := fast(32, 2)
	j.Dense, j.Jitter = 1e6, 0.3
	run := func(s Strategy, j Job) Simulated {
		got, err := Simulate(s, c, j, 60, 1)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, s := range []Strategy{RingStrategy, SynchronousStrategy} {
		near(t, s.String(), predict(t, s, c, j).Step, run(s, j).Step, 0.1)
	}
	all := run(SynchronousStrategy, j)
	j.Backup = 2
	backup := run(SynchronousStrategy, j)
	if backup.Rate < all.Rate || backup.Dropped == 0 || all.Dropped != 0 {
		t.Errorf("with backup workers %+v, without %+v: expected more steps, some of them dropped", backup, all)
	}
	if async := run(AsynchronousStrategy, j); async.Rate < all.Rate {
		t.Errorf("asynchronous %v steps/s, synchronous %v: stragglers should not be waited for", async.Rate, all.Rate)
	}
}

func TestSameSeedSameResult(t *testing.T) {
	c, j := fast(8, 2)
	j.Jitter = 0.5
	if a, b := simulate(t, RingStrategy, c, j), simulate(t, RingStrategy, c, j); a != b {
		t.Errorf("%v, then %v", a, b)
	}
}

// TestBetterMachinesAreNotSlower: a faster network or fewer bytes never lengthen a step.
func TestBetterMachinesAreNotSlower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cluster{Network{Latency: rapid.Float64Range(0, 1e-3).Draw(t, "latency"), Bandwidth: rapid.Float64Range(1e6, 1e10).Draw(t, "bandwidth")},
			rapid.IntRange(1, 600).Draw(t, "workers"), rapid.IntRange(1, 20).Draw(t, "servers")}
		j := Job{Compute: rapid.Float64Range(1e-4, 1).Draw(t, "compute"), Forward: 0.3, Dense: rapid.Float64Range(0, 1e9).Draw(t, "dense"),
			Rows: rapid.Float64Range(0, 1e7).Draw(t, "rows"), Buckets: rapid.IntRange(1, 30).Draw(t, "buckets"), Overlap: rapid.Bool().Draw(t, "overlap")}
		better, less := c, j
		better.Bandwidth *= 2
		better.Latency /= 2
		less.Dense /= 2
		for s := RingStrategy; s <= AsynchronousStrategy; s++ {
			base, err := Predict(s, c, j)
			a, err2 := Predict(s, better, j)
			b, err3 := Predict(s, c, less)
			if err != nil || err2 != nil || err3 != nil {
				t.Fatal(err, err2, err3)
			}
			if !(base.Step >= j.Compute*(1-1e-9)) || a.Step > base.Step*(1+1e-9) || b.Step > base.Step*(1+1e-9) || base.Bound == "" {
				t.Fatalf("%v: step %v (%s), on a better network %v, with less %v", s, base.Step, base.Bound, a.Step, b.Step)
			}
		}
	})
}

func TestNonsenseIsRefused(t *testing.T) {
	good, job := fast(4, 2)
	for name, change := range map[string]func(*Cluster, *Job){
		"workers": func(c *Cluster, _ *Job) { c.Workers = 0 },
		"servers": func(c *Cluster, _ *Job) { c.Servers = 0 },
		"backup":  func(_ *Cluster, j *Job) { j.Backup = 4 },
		"forward": func(_ *Cluster, j *Job) { j.Forward = 2 },
		"nan":     func(_ *Cluster, j *Job) { j.Dense = math.NaN() },
		"nothing": func(c *Cluster, j *Job) { *j, c.Latency = Job{}, 0 },
	} {
		c, j := good, job
		change(&c, &j)
		if _, err := Predict(SynchronousStrategy, c, j); err == nil {
			t.Errorf("%s: predicted", name)
		}
		if _, err := Simulate(SynchronousStrategy, c, j, 1, 1); err == nil {
			t.Errorf("%s: simulated", name)
		}
	}
}
