package yggdrasil

// Task is what a model predicts.
type Task int

// The tasks.
const (
	Classification    Task = 1
	Regression        Task = 2
	Ranking           Task = 3
	CategoricalUplift Task = 4
	NumericalUplift   Task = 5
)

// Kind is the kind of a column.
type Kind int

// The kinds of columns that features can have.
const (
	Numerical   Kind = 1
	Categorical Kind = 4
	Set         Kind = 5 // of categories
	Boolean     Kind = 7
	Discretized Kind = 9 // numbers in bins
)

// Loss is the loss of gradient boosted trees.
type Loss int

// The losses.
const (
	BinomialLogLikelihood    Loss = 1
	SquaredError             Loss = 2
	MultinomialLogLikelihood Loss = 3
	LambdaMART               Loss = 4
	CrossEntropyNDCG         Loss = 5
	BinaryFocal              Loss = 6
	Poisson                  Loss = 7
	MeanAbsoluteError        Loss = 8
)

// Column is a column of the data that the model was trained with.
type Column struct {
	Name string
	Kind Kind

	Mean       float64   // of numbers
	Boundaries []float32 // of bins, in order
	True       int64     // how many were true
	False      int64     // how many were false

	MostFrequent int64  // category
	Categories   int    // number of categories; the first, 0, is for values outside the dictionary
	Integers     bool   // categories are integers without words
	Words        []Word // of categories, in the order of the file
}

// Word is a value of a category.
type Word struct {
	Text  string
	Index int64
}

// Model is a model of trees.
type Model struct {
	Task          Task
	Label         int   // column of the label
	Inputs        []int // columns of the features, in order
	Probabilities bool  // a classifier gives probabilities, not logits
	Columns       []Column

	Boosted       bool // gradient boosted trees, not a random forest
	WinnerTakeAll bool // trees of a random forest vote for their most frequent class

	// For gradient boosted trees.
	Loss         Loss
	Initial      []float32 // predictions before any tree
	TreesPerStep int       // in training, 1 or the number of classes
	Logits       bool      // predictions are logits, or the logarithm of the expectation

	Effects int // number of treatments in the leaves of uplift models

	Nodes []Node  // of all trees, each depth-first: a node's negative child follows it
	Roots []int32 // indices of the trees' first nodes

	// Values of nodes, which refer to ranges of these.
	Elements []int32   // categories in order, or columns of oblique conditions
	Bitmaps  []byte    // categories as bits, the lowest first
	Weights  []float32 // of oblique conditions, followed by replacements for missing values; effects of treatments
	Counts   []float64 // of classes, followed by their sum
}

// Test is the kind of a node.
type Test uint8

// The kinds of nodes.
const (
	Leaf      Test = iota
	Missing        // the value is missing
	Higher         // the value is at least Threshold
	True           // the value is true
	AnyOf          // the value, or one of a set, is among Elements[First:End]
	AnyBit         // the value, or one of a set, has its bit in Bitmaps[First:End]
	HigherBin      // the value is at least Threshold, a boundary of the column's bins
	Oblique        // the sum of columns Elements[First:End] times their Weights is at least Threshold
)

// Node is a node of a tree.
type Node struct {
	Test       Test
	WhenNA     bool  // the result of the condition for a missing value
	Replaces   bool  // an oblique condition has replacements for missing values
	Column     int32 // of the value
	Positive   int32 // index of the positive child among all nodes
	First, End int32 // range of the node's values; in leaves, of Counts for classifiers and of Weights for uplift
	// FirstWeight is the index in Weights of an oblique condition's first weight; the replacements follow the weights.
	FirstWeight int32
	Threshold   float32
	Value       float32 // in a leaf: the prediction of a regression
	Class       int32   // in a leaf: the most frequent class
}
