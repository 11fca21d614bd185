package main

import (
	"context"
	"os"
	"path/filepath"
)

// subjects are all benchmarks, in the order of the tables.
var subjects = []subject{
	{name: "ceilings", title: "what the machine can do", unit: "G/s", cases: ceilingCases(), setup: ceilingsField,
		value: func(name string, steps int, r reply) float64 {
			return ceilingWork(name) * float64(steps) / r.Seconds / 1e9
		}},
	{name: "matmul", title: "matrix product, single precision, C += A*B", unit: "GFLOP/s", cases: matmulCases(), setup: matmulField,
		value: func(name string, steps int, r reply) float64 { return flops(name) * float64(steps) / r.Seconds / 1e9 }},
	{name: "mlp", title: "MLP 784-512-256-10, batch 128, Adam, one step", unit: "ms", cases: []string{""}, setup: mlpField},
	{name: "cnn", title: "CNN on 28x28, batch 64, Adam, one step", unit: "ms", cases: []string{""}, setup: torchField("cnn")},
	{name: "resnet20", title: "ResNet-20 on 32x32x3, batch 128, momentum, one step", unit: "ms", cases: []string{""}, setup: torchField("resnet20")},
	{name: "resnet50", title: "ResNet-50 on 224x224x3, batch 32, momentum, one step", unit: "ms", cases: []string{""}, setup: resNet50Field},
	{name: "conv1d", title: "two Conv1D of 5 steps, 64 to 128 channels, length 256, batch 32, Adam, one step", unit: "ms", cases: []string{""}, setup: layersField("conv1d")},
	{name: "grouped", title: "two 3x3 convolutions in 32 groups, 128 channels, 28x28, batch 32, Adam, one step", unit: "ms", cases: []string{""}, setup: layersField("grouped")},
	{name: "depthwise", title: "two depthwise 3x3 and 1x1 convolutions, 64 channels, 56x56, batch 16, Adam, one step", unit: "ms", cases: []string{""}, setup: layersField("depthwise")},
	{name: "transformer", title: "transformer block, length 512, width 512, 8 heads, batch 8, Adam, one step", unit: "ms", cases: []string{""}, setup: transformerField},
	{name: "transformer_inference", title: "transformer block, length 512, width 512, 8 heads, one batch to probabilities", unit: "ms", cases: transformerCases,
		setup: predictField(transformerCases, "transformer")},
	{name: "attention", title: "attention of 8 heads of 64 numbers over 512 positions, one batch to the mean of its results", unit: "ms", cases: attentionCases,
		setup: predictField(attentionCases, "attention")},
	{name: "inference", title: "one batch to probabilities", unit: "ms", cases: inferenceCases, setup: inferenceField},
	{name: "quantized", title: "networks of float32 and their forms of 8 bits, by MODEL-FORM/BATCH", unit: "ms", cases: quantizedCases, setup: quantizedField},
	{name: "sparse_linear", title: "logistic regression on 1,000,000 ids, 40 per example, batch 512, Adagrad, one step", unit: "ms", cases: []string{""}, setup: sparseField},
	{name: "wide_deep", title: "wide and deep model on raw rows of Adult, 15 linear and 12 deep columns, batch 128, one step", unit: "ms", cases: []string{""}, setup: wideDeepField},
	{name: "loop", title: "1x1 linear model, batch 1, one step", unit: "us", cases: []string{""}, setup: loopField},
	{name: "startup", title: "process start to first finished step (mlp)", unit: "s", cases: []string{""}, setup: startupField, startup: true},
	{name: "memory", title: "peak resident memory of 30 training steps", unit: "MB", cases: []string{""}, setup: memoryField("mlp"), steps: 30, value: peakMB},
	{name: "memory_resnet20", title: "peak resident memory of 6 training steps of ResNet-20", unit: "MB", cases: []string{""}, setup: memoryField("resnet20"), steps: 6, value: peakMB},
	{name: "memory_dense", title: "peak resident memory of 50 training steps and a checkpoint of an MLP 784-8192-8192-4096-10, momentum, batch 64", unit: "MB", cases: denseCases,
		setup: denseField, steps: denseSteps, value: peakMB},
	{name: "growth", title: "MLP steps by batch, width and depth", unit: "ms", cases: growthCases(), setup: growthField},
	{name: "allreduce", title: "sum of a float32 tensor over processes, bytes that each sends", unit: "GB/s", cases: allreduceCases, setup: allreduceField,
		value: func(name string, steps int, r reply) float64 {
			return ringBytes(name) * float64(steps) / r.Seconds / 1e9
		}},
	{name: "ps", title: "pull and push of a model of 100 MB, bytes both ways", unit: "GB/s", cases: psCases, setup: psField,
		value: func(_ string, steps int, r reply) float64 { return psBytes(steps, r) }},
	{name: "embedding", title: "embedding of 10,000,000 x 16 on 2 parameter servers, 40 rows per example, batch 512, Adagrad", unit: "examples/s", cases: []string{""}, setup: embeddingField,
		value: func(_ string, steps int, r reply) float64 { return tableBatch * float64(steps) / r.Seconds }},
	{name: "functions", title: "functions on 3 workers over 2 parameter servers: an empty one, and the parameter-server tutorial's step on 64 rows", unit: "functions/s", cases: functionCases, setup: functionsField,
		value: func(_ string, steps int, r reply) float64 { return float64(steps) / r.Seconds }, threads: []int{1}},
	{name: "trees", title: "boosted trees, 100 of depth 6, from data in memory to a trained model", unit: "ms", cases: treeCases, setup: treesField},
	{name: "jpeg", title: "JPEG images in memory, by WIDTHxHEIGHT, to red, green and blue", unit: "images/s", cases: jpegCases, setup: jpegField,
		value: func(_ string, steps int, r reply) float64 { return float64(steps) / r.Seconds }, threads: []int{1}},
	{name: "inputs", title: "files read from front to back, by FORMAT", unit: "ms", cases: inputCases, asked: []string{"stream"}, setup: inputsField, steps: 1},
	{name: "overhead", title: "step of the MLP (batch 128, Adam) of a task of a cluster", unit: "ms", cases: overheadCases, setup: overheadField},
	{name: "elastic", title: "kill -9 of one of three nodes that train the MLP, until the others have made a step", unit: "s", cases: []string{""}, setup: elasticField, steps: 1, threads: []int{1}},
	{name: "cluster-runtime", title: "steps of TensorFlow's cluster runtime, a worker and a parameter server, one client in Go", unit: "ms", cases: runtimeCases, setup: runtimeField},
	{name: "cluster-memory", title: "resident memory of a parameter server: idle; with variables of 330 MB after 200 steps", unit: "MB", cases: runtimeMemory,
		setup: memoryOfServers, steps: memorySteps, value: func(_ string, _ int, r reply) float64 { return r.Seconds }},
	{name: "serving", title: "requests of one row over gRPC by MODEL/CLIENTS, the server and its clients on a core each", unit: "requests/s", cases: servingCases,
		setup: servingField, value: requestsPerSecond, threads: []int{1}},
	{name: "serving_batch", title: "exported models on batches of 32, in process and through a server on one core", unit: "examples/s", cases: batchCases,
		setup: batchField, value: batchedPerSecond},
	{name: "halves", title: "models in float32 and in 16 bits, one request in process, by MODEL_TYPE/BATCH", unit: "ms", cases: halfCases, setup: halvesField},
	{name: "serving_load", title: "a further copy of an exported model, from disk to its first answer", unit: "ms", cases: servedModels, setup: copiesField, steps: 4, threads: []int{1}},
	{name: "serving_overload", title: "p99 of requests that a model of 5 ms answers, alone and offered twice what it can do", unit: "ms", cases: overloadCases,
		setup: overloadField, value: acceptedP99, steps: 400, threads: []int{1}},
}

func subjectNames() []string {
	var out []string
	for _, s := range subjects {
		out = append(out, s.name)
	}
	return out
}

func peakMB(_ string, _ int, r reply) float64 { return float64(r.PeakKB) / 1024 }

// self is the command line of a worker of this binary.
func self(kind string, args ...string) ([]string, error) {
	exe, err := os.Executable()
	return append([]string{exe, "worker", kind}, args...), err
}

// peer is a worker written in Python.
//
// OpenMP's threads spin while they wait. On busy cores this makes PyTorch a
// hundred times slower; on idle ones, passive waiting costs little. -spin measures both.
func (s settings) peer(name, script string, args ...string) contender {
	return contender{name: name, argv: append([]string{s.python, filepath.Join("bench", "peers", script)}, args...),
		env: []string{"OMP_WAIT_POLICY=passive"}}
}

// torch is a worker that runs PyTorch; with -spin there is a second one.
func (s settings) torch(name, script string, args ...string) []contender {
	passive := s.peer(name, script, args...)
	if !s.spin {
		return []contender{passive}
	}
	spinning := passive
	spinning.name, spinning.env = name+", spinning", nil
	return []contender{passive, spinning}
}

// trainField compares our training of a workload with peers.
func (s settings) trainField(ctx context.Context, name, dir string) (field, error) {
	if _, err := workloads[name].give(ctx, dir); err != nil {
		return field{}, err
	}
	argv, err := self("train", name, dir)
	check := s.peer("reference", "torch_train.py", name, dir, "float64")
	return field{contenders: []contender{{name: ours, argv: argv}}, check: &check, tolerance: 1e-4}, err
}

func mlpField(ctx context.Context, s settings, dir string) (field, error) {
	f, err := torchField("mlp")(ctx, s, dir)
	if err != nil {
		return f, err
	}
	argv, err := self("gorgonia", dir)
	f.contenders = append(f.contenders, s.torch("torch compile, fused Adam", "torch_train.py", "mlp", dir, "compile")...)
	f.contenders = append(f.contenders,
		s.peer("tf.estimator", "tf_train.py", "mlp", dir, "estimator"),
		s.peer("tf.keras", "tf_train.py", "mlp", dir, "keras"),
		// Gorgonia's and GoMLX's Adam correct the bias before they add epsilon.
		contender{name: "stock Gorgonia", argv: argv, tolerance: 5e-3})
	f.addGoMLX(ctx, s, dir, contender{name: "GoMLX", argv: []string{"train", dir}, tolerance: 5e-3},
		contender{name: "GoMLX, gradients by hand", argv: []string{"train_by_hand", dir}, tolerance: 5e-3})
	return f, err
}

// torchField compares a workload with eager PyTorch, in both of its memory formats if
// the workload has images.
func torchField(name string) func(context.Context, settings, string) (field, error) {
	return func(ctx context.Context, s settings, dir string) (field, error) {
		f, err := s.trainField(ctx, name, dir)
		f.contenders = append(f.contenders, s.torch("torch eager", "torch_train.py", name, dir, "eager")...)
		if len(workloads[name].feature) == 3 {
			f.contenders = append(f.contenders, s.torch("torch eager, channels last", "torch_train.py", name, dir, "channels_last")...)
		}
		return f, err
	}
}

// resNet50Field allows for rounding that accumulates over normalizations and steps: PyTorch's own losses in float32
// differ by up to 0.006 from float64.
func resNet50Field(ctx context.Context, s settings, dir string) (field, error) {
	f, err := torchField("resnet50")(ctx, s, dir)
	f.tolerance = 1e-2
	return f, err
}

// layersField is torchField plus compiled PyTorch.
func layersField(name string) func(context.Context, settings, string) (field, error) {
	return func(ctx context.Context, s settings, dir string) (field, error) {
		f, err := torchField(name)(ctx, s, dir)
		f.contenders = append(f.contenders, s.torch("torch compile, fused Adam", "torch_train.py", name, dir, "compile")...)
		return f, err
	}
}

// transformerField compares the block with eager and compiled PyTorch.
func transformerField(ctx context.Context, s settings, dir string) (field, error) {
	f, err := s.trainField(ctx, "transformer", dir)
	f.contenders = append(f.contenders, s.torch("torch eager", "torch_train.py", "transformer", dir, "eager")...)
	f.contenders = append(f.contenders, s.torch("torch compile, fused Adam", "torch_train.py", "transformer", dir, "compile")...)
	return f, err
}

// predictField compares inference of networks, by NETWORK/BATCH, with ONNX Runtime and PyTorch.
func predictField(cases []string, networks ...string) func(context.Context, settings, string) (field, error) {
	return func(ctx context.Context, s settings, dir string) (field, error) {
		for _, name := range networks {
			if _, err := workloads[name].give(ctx, filepath.Join(dir, name)); err != nil {
				return field{}, err
			}
		}
		argv, err := self("predict", append([]string{dir}, cases...)...)
		of := func(kind string) []string { return append([]string{dir, kind}, cases...) }
		check := s.peer("reference", "infer.py", of("float64")...)
		f := field{check: &check, tolerance: 1e-4, contenders: []contender{{name: ours, argv: argv}, s.peer("onnxruntime", "infer.py", of("onnxruntime")...)}}
		f.contenders = append(f.contenders, s.torch("torch", "infer.py", of("torch")...)...)
		return f, err
	}
}

func inferenceField(ctx context.Context, s settings, dir string) (field, error) {
	f, err := predictField(inferenceCases, "mlp", "cnn", "resnet20")(ctx, s, dir)
	f.addGoMLX(ctx, s, dir, contender{name: "GoMLX", argv: []string{"predict", dir}, cases: []string{"mlp/1", "mlp/64", "cnn/1", "cnn/64"}})
	return f, err
}

func sparseField(ctx context.Context, s settings, dir string) (field, error) {
	f, err := s.trainField(ctx, "sparse_linear", dir)
	if err != nil {
		return f, err
	}
	f.check = nil
	if f.reference, err = sparseReference(dir); err != nil {
		return f, err
	}
	f.contenders = append(f.contenders,
		s.peer("tf.estimator LinearClassifier", "tf_train.py", "sparse_linear", dir, "estimator"),
		s.peer("TF1 graph", "tf_train.py", "sparse_linear", dir, "graph"))
	return f, nil
}

func loopField(ctx context.Context, s settings, dir string) (field, error) {
	f, err := s.trainField(ctx, "loop", dir)
	f.contenders = append(f.contenders, s.peer("torch eager", "torch_train.py", "loop", dir, "eager"))
	return f, err
}

func startupField(ctx context.Context, s settings, dir string) (field, error) {
	f, err := s.trainField(ctx, "mlp", dir)
	f.check = nil
	f.contenders[0].argv = append(f.contenders[0].argv, "startup")
	f.contenders = append(f.contenders,
		s.peer("tf.estimator", "tf_train.py", "mlp", dir, "estimator", "startup"),
		s.peer("tf.keras", "tf_train.py", "mlp", dir, "keras", "startup"),
		s.peer("torch eager", "torch_train.py", "mlp", dir, "eager", "startup"))
	return f, err
}

func memoryField(name string) func(context.Context, settings, string) (field, error) {
	return func(ctx context.Context, s settings, dir string) (field, error) {
		f, err := s.trainField(ctx, name, dir)
		f.contenders = append(f.contenders, s.peer("torch eager", "torch_train.py", name, dir, "eager"))
		return f, err
	}
}
