// Command bench measures goestimator side by side with PyTorch, TensorFlow, ONNX
// Runtime, OpenBLAS, stock Gorgonia and GoMLX:
//
//	go run ./bench -subject mlp,cnn -threads 1,2 -rounds 7 -processes 3
//
// Every contender is a process that stays alive and times a block of steps on each
// command, so that blocks alternate: ours, theirs, ours, theirs, with a
// pause between. The result is the median over all rounds of all processes.
// Before anything is timed, each contender's results are compared with a
// float64 reference. Peers that are not installed are left out, and listed.
//
// -record stores the results in bench/results; -compare shows what has become
// slower since; "bench tables" writes the tables of docs/performance.md from them.
//
// -cpu measures the processor time of workers instead of elapsed time, for
// a machine that is in use.
//
// The serving subjects run servers and clients in separate processes, each
// pinned to one core if taskset is installed.
//
// "bench worker profile WORKLOAD STEPS" prints how much time our steps spend in each
// op; BENCH_THREADS sets the threads.
package main
