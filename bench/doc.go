// Command bench measures goestimator side by side with PyTorch, TensorFlow, ONNX
// Runtime, OpenBLAS, stock Gorgonia and GoMLX:
//
//	go run ./bench -subject mlp,cnn -threads 1,2 -rounds 7 -processes 3
//
// Every contender is a process that stays alive and times a block of steps when
// it gets a command, so that blocks alternate: ours, theirs, ours, theirs, with a
// pause between. The result is the median over all rounds of all processes.
// Before anything is timed, each contender's results are compared with a
// reference in float64. Peers that are not installed are left out, and named.
//
// -record keeps the results in bench/results; -compare shows what has become
// slower since; "bench tables" writes docs/performance.md's tables from them.
//
// -cpu measures the processor time of workers in place of the time that passes, for
// a machine that others use.
//
// The serving subjects run servers and their clients in processes of their own, each
// end on one core where taskset is there to pin it.
//
// "bench worker profile WORKLOAD STEPS" prints which ops the steps of ours go
// to; BENCH_THREADS sets the threads.
package main
