package onnxgraph

// families returns the operators of the default domain.
func families() []operators {
	return []operators{mathOperators, activationOperators, convolutionOperators, poolOperators, normOperators, productOperators, shapeOperators, indexOperators, scatterOperators, distinctOperators,
		reduceOperators, controlOperators(), recurrentOperators, resizeOperators, quantizedOperators, signalOperators, lossOperators, placingOperators, optionalOperators, boxOperators, samplingOperators, sequenceOperators(), textOperators, transformerOperators, randomOperators}
}

// mlFamilies returns the operators of the domain of classic models.
func mlFamilies() []operators {
	return []operators{classicOperators, labelOperators, vectorOperators, ensembleOperators}
}

// runtimeFamilies returns the operators of ONNX Runtime's domain.
func runtimeFamilies() []operators {
	return []operators{runtimeOperators, quantizedRuntimeOperators, packedOperators, attentionRuntimeOperators, fusedOperators}
}
