package costmodel

import "math"

// Network is the network between tasks.
type Network struct {
	Latency   float64 // from sending an empty message to its arrival, software included
	Bandwidth float64 // of a task's link, in each direction
	Shared    float64 // of all messages together, 0 if nothing is shared; tasks on one machine share its memory and cores
	Cores     int     // tasks on one machine handle at most this many messages at once, each for Latency; 0 if every task has its own machine
}

// Cluster is the set of tasks.
type Cluster struct {
	Network
	Workers int
	Servers int // parameter servers; an all-reduce uses none
}

// Job is the work of each worker in a step.
type Job struct {
	Compute float64 // forward and backward pass of a worker's batch, on average
	Forward float64 // share of Compute after which the first gradient is complete
	Jitter  float64 // standard deviation of Compute over its mean (log-normal)
	Dense   float64 // bytes of the dense gradients, and of their variables
	Rows    float64 // bytes of the rows of sparse gradients, ids included
	Buckets int     // number of parts in which the dense gradients go around the ring
	Direct  float64 // buckets of up to this many bytes go from each worker to all others, in one hop (groups of at most meshSize)
	Overlap bool    // with the backward pass (all-reduce)
	Backup  int     // synchronous ps: number of workers that a step does not wait for
	Add     float64 // rate at which a worker adds received gradients, 0: at no cost
	Apply   float64 // rate at which a ps adds and applies gradients, 0: at no cost
}

// Prediction describes one step of all workers.
type Prediction struct {
	Step        float64 // time of a worker's step
	Rate        float64 // steps of all workers per second
	Exposed     float64 // the part of Step in which a worker neither computes nor waits for others' computations
	WorkerBytes float64 // sent by a worker in a step; it receives the same amount
	ServerBytes float64 // sent by a ps while every worker does a step; it receives the same amount
	Bound       string  // what to improve first
}

// Efficiency is the share of the step that a worker computes.
func (p Prediction) Efficiency(j Job) float64 { return j.Compute / p.Step }

// meshSize is the largest group in which each worker has a link to every other one.
const meshSize = 16

// direct reports whether each bucket goes to all workers at once.
func (j Job) direct(workers int) bool {
	return workers <= meshSize && j.Dense/float64(j.buckets()) <= j.Direct
}

// latency is the latency of that many messages at once.
func (n Network) latency(messages float64) float64 {
	if n.Cores == 0 {
		return n.Latency
	}
	return n.Latency * max(1, messages/float64(n.Cores))
}

// per is bytes divided by rate, 0 if there is no limit.
func per(bytes, rate float64) float64 {
	if rate <= 0 {
		return 0
	}
	return bytes / rate
}

// straggle is the expected computing time of the n-th fastest worker: Blom's approximation
// of normal order statistics, mapped to the log-normal distribution.
func (j Job) straggle(n, workers int) float64 {
	if j.Jitter == 0 || workers == 1 {
		return j.Compute
	}
	p := (float64(n) - 0.375) / (float64(workers) + 0.25)
	sigma := j.sigma()
	return j.Compute * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*p-1)-sigma*sigma/2)
}

// sigma is the parameter of the log-normal distribution with this Jitter.
func (j Job) sigma() float64 { return math.Sqrt(math.Log1p(j.Jitter * j.Jitter)) }

func (j Job) buckets() int { return max(j.Buckets, 1) }

// ready is the time at which bucket k is complete, if computing takes compute.
func (j Job) ready(k int, compute float64) float64 {
	if !j.Overlap {
		return compute
	}
	return compute * (j.Forward + (1-j.Forward)*float64(k+1)/float64(j.buckets()))
}
