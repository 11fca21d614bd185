# Writes ONNX models and what ONNX Runtime answers, as folders in the form of ONNX's own tests: argv[1] is where.
import os
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

root = sys.argv[1]
# ONNX Runtime 1.19 leaves LOGISTIC out here, and 1.32 does not: see TestEdgesOfOperators.
LATER = {"classifier1", "forest0_LOGISTIC_True", "wide_forest_LOGISTIC_True_1_0"}
rng = np.random.default_rng(3)


def save(name, nodes, ins, outs, inits=(), ml=3, opset=17, feeds=None, functions=(), external=False):
    g = h.make_graph(nodes, name, [h.make_tensor_value_info(*i) for i in ins], [h.make_tensor_value_info(*o) for o in outs], list(inits))
    save_graph(name, g, feeds, ml, opset, functions, external)


def save_graph(name, g, feeds, ml=3, opset=17, functions=(), external=False):
    if name in LATER:
        return
    opsets = [h.make_opsetid("", opset), h.make_opsetid("ai.onnx.ml", ml), h.make_opsetid("com.microsoft", 1)]
    if functions:
        opsets.append(h.make_opsetid("local", 1))
    m = h.make_model(g, opset_imports=opsets, ir_version=10 if opset > 20 else 9 if opset > 18 else 8, functions=list(functions))
    d = f"{root}/{name}"
    os.makedirs(d + "/test_data_set_0")
    s = ort.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    out = s.run([o.name for o in g.output], feeds)
    onnx.save(m, d + "/model.onnx", save_as_external_data=external, location="weights.bin", size_threshold=16)
    kinds = {i.name: i.type.WhichOneof("value") for i in g.input}
    for kind, list_ in [("input", [feeds[i.name] for i in g.input]), ("output", out)]:
        for i, v in enumerate(list_):
            if kind == "input" and kinds[g.input[i].name] == "optional_type":
                with open(f"{d}/test_data_set_0/{kind}_{i}.pb", "wb") as f:
                    f.write(nh.from_optional(v).SerializeToString())
                continue
            with open(f"{d}/test_data_set_0/{kind}_{i}.pb", "wb") as f:
                if isinstance(v, list) and isinstance(v[0], dict):  # what ZipMap makes: rows
                    v = np.array([list(row.values()) for row in v], np.float32)
                f.write((nh.from_list(v) if isinstance(v, list) else nh.from_array(np.asarray(v))).SerializeToString())


# Classic models.
X=rng.normal(size=(7,4)).astype(np.float32); X[3]=0; X[2,1]=np.nan
xin=[('x',T.FLOAT,['N',4])]
clean=np.nan_to_num(X)
def ml(op,name,outs,feeds=None,**a): save(name,[h.make_node(op,['x'],[o[0] for o in outs],domain='ai.onnx.ml',**a)],xin,outs,feeds={'x':clean if feeds is None else feeds})
one=[('y',T.FLOAT,None)]
ml('Scaler','scaler',one,offset=[1.,2.,3.,4.],scale=[.5,1.,2.,3.])
for n in ['MAX','L1','L2']: ml('Normalizer','normalizer_'+n,one,norm=n)
ml('Binarizer','binarizer',one,threshold=0.3)
ml('Imputer','imputer',one,feeds=X,imputed_value_floats=[1.,2.,3.,4.],replaced_value_float=float('nan'))
for p in ['NONE','LOGISTIC','SOFTMAX','SOFTMAX_ZERO']:
    ml('LinearRegressor','regressor_'+p,one,coefficients=rng.normal(size=8).tolist(),intercepts=[.1,.2],targets=2,post_transform=p)
    ml('LinearClassifier','classifier3_'+p,[('l',T.INT64,None),('y',T.FLOAT,None)],coefficients=rng.normal(size=12).tolist(),intercepts=[.1,.2,.3],classlabels_ints=[5,6,7],post_transform=p)
    ml('LinearClassifier','classifier2_'+p,[('l',T.STRING,None),('y',T.FLOAT,None)],coefficients=rng.normal(size=8).tolist(),intercepts=[.1,.2],classlabels_strings=['a','b'],post_transform=p)
ml('LinearClassifier','classifier1',[('l',T.INT64,None),('y',T.FLOAT,None)],coefficients=rng.normal(size=4).tolist(),intercepts=[.1],classlabels_ints=[0,1],post_transform='LOGISTIC')
for p in ['NONE','SOFTMAX','SOFTMAX_ZERO']: ml('LinearClassifier','classifier1_'+p,[('l',T.INT64,None),('y',T.FLOAT,None)],coefficients=rng.normal(size=4).tolist(),intercepts=[.1],classlabels_ints=[0,1],post_transform=p)
def trees(kind,ids,positive,modes=('BRANCH_LEQ',),n=3,depth=3):
    a={k:[] for k in 'treeids nodeids featureids values modes truenodeids falsenodeids missing_value_tracks_true'.split()}
    w={k:[] for k in 'treeids nodeids ids weights'.split()}
    for t in range(n):
        total=2**(depth+1)-1
        for i in range(total):
            leaf=i>=2**depth-1 or (i==2 and t==1)
            j=i
            while j>2: j=(j-1)//2
            if t==1 and j==2 and i!=2: continue
            a['treeids'].append(t);a['nodeids'].append(i);a['featureids'].append(int(rng.integers(4)));a['values'].append(float(rng.normal()*.7))
            a['modes'].append('LEAF' if leaf else modes[int(rng.integers(len(modes)))])
            a['truenodeids'].append(0 if leaf else 2*i+1);a['falsenodeids'].append(0 if leaf else 2*i+2);a['missing_value_tracks_true'].append(int(rng.integers(2)))
            if leaf:
                for c in ids:
                    v=float(rng.normal()); w['treeids'].append(t);w['nodeids'].append(i);w['ids'].append(c);w['weights'].append(abs(v)/n if positive else v)
    out={'nodes_'+k:v for k,v in a.items()}; out.update({kind+'_'+k:v for k,v in w.items()}); return out
for agg in ['SUM','AVERAGE','MIN','MAX']:
    ml('TreeEnsembleRegressor','trees_'+agg,one,feeds=X,n_targets=2,aggregate_function=agg,base_values=[.5,-.5],**trees('target',[0,1],False))
ml('TreeEnsembleRegressor','trees_one',one,feeds=X,n_targets=1,**trees('target',[0],False))
ml('TreeEnsembleRegressor','trees_modes',one,feeds=X,n_targets=1,**trees('target',[0],False,modes=['BRANCH_LEQ','BRANCH_LT','BRANCH_GT','BRANCH_GTE'],depth=4))
lab=[('l',T.INT64,None),('y',T.FLOAT,None)]
for p in ['NONE','LOGISTIC','SOFTMAX','SOFTMAX_ZERO']:
    for positive in [True,False]:
        ml('TreeEnsembleClassifier',f'forest3_{p}_{positive}',lab,feeds=X,post_transform=p,classlabels_int64s=[4,5,6],**trees('class',[0,1,2],positive))
        ml('TreeEnsembleClassifier',f'forest2_{p}_{positive}',lab,feeds=X,post_transform=p,classlabels_int64s=[0,1],**trees('class',[0,1],positive))
        ml('TreeEnsembleClassifier',f'forest1_{p}_{positive}',lab,feeds=X,post_transform=p,classlabels_int64s=[0,1],**trees('class',[1],positive))
        ml('TreeEnsembleClassifier',f'forest0_{p}_{positive}',lab,feeds=X,post_transform=p,classlabels_int64s=[0,1],base_values=[.3],**trees('class',[0],positive))


def of(op, name, x, outs, ml=3, **a):
    """One classic operator of inputs of any type."""
    xs = x if isinstance(x, list) else [x]
    kinds = {"f": T.FLOAT, "O": T.STRING, "i": T.INT64}
    ins = [(f"x{i}", T.DOUBLE if v.dtype == np.float64 else kinds[v.dtype.kind], ["N", *v.shape[1:]]) for i, v in enumerate(xs)]
    save(name, [h.make_node(op, [i[0] for i in ins], [o[0] for o in outs], domain="ai.onnx.ml", **a)], ins, outs, ml=ml, feeds={i[0]: v for i, v in zip(ins, xs)})


words = np.array([["a", "b"], ["", "q"], ["b", "ä"]], object)
numbers = np.array([[3, -1], [5, 2**40]], np.int64)
reals = np.array([[0.5, np.nan], [-0.0, 1e30]], np.float32)
strings, longs, floats = [("y", T.STRING, None)], [("y", T.INT64, None)], [("y", T.FLOAT, None)]
of("LabelEncoder", "label_words", words, longs, ml=2, keys_strings=["a", "b", "a"], values_int64s=[7, 8, 9], default_int64=-5)
of("LabelEncoder", "label_numbers", numbers, strings, ml=2, keys_int64s=[5, 3], values_strings=["five", "three"], default_string="other")
of("LabelEncoder", "label_reals", reals, floats, ml=2, keys_floats=[0.0, float("nan"), 0.5], values_floats=[1.0, 2.0, 3.0])
of("LabelEncoder", "label_reals4", reals, floats, ml=4, keys_floats=[0.0, float("nan"), 0.5], values_floats=[1.0, 2.0, 3.0])
of("LabelEncoder", "label_same", words, strings, ml=2, keys_strings=["a"], values_strings=["A"])
of("LabelEncoder", "label_tensors", numbers, [("y", T.DOUBLE, None)], ml=4, keys_tensor=nh.from_array(np.array([5, 3])), values_tensor=nh.from_array(np.array([0.1, 0.2])), default_tensor=nh.from_array(np.array([0.3])))
of("LabelEncoder", "label_first", words, longs, ml=1, classes_strings=["b", "a"], default_int64=9)
of("LabelEncoder", "label_names", numbers, strings, ml=1, classes_strings=["zero", "one", "two", "three"])
of("CategoryMapper", "categories", words, longs, cats_strings=["b", "a"], cats_int64s=[20, 10])
of("CategoryMapper", "categories_back", numbers, strings, cats_strings=["b", "a"], cats_int64s=[5, 3], default_string="none")
of("OneHotEncoder", "one_hot_words", words, floats, cats_strings=["a", "b"], zeros=1)
of("OneHotEncoder", "one_hot_numbers", numbers, floats, cats_int64s=[5, 7, 3])
of("OneHotEncoder", "one_hot_known", np.array([1, 0, 1]), floats, cats_int64s=[0, 1], zeros=0)
of("LabelEncoder", "label_first_twice", words, longs, ml=1, classes_strings=["a", "b", "a"])
of("CategoryMapper", "categories_twice", words, longs, cats_strings=["a", "b", "a"], cats_int64s=[7, 8, 9])
of("CategoryMapper", "categories_back_twice", numbers, strings, cats_strings=["b", "a", "c"], cats_int64s=[5, 3, 5], default_string="none")
of("OneHotEncoder", "one_hot_twice", numbers, floats, cats_int64s=[5, 3, 5])
of("OneHotEncoder", "one_hot_many", numbers, floats, cats_int64s=list(range(5000)))
of("FeatureVectorizer", "vectors", [clean, clean[:, 1:3], clean[:, :1]], floats, inputdimensions=[4, 2, 1])

support = rng.normal(size=(9, 4)).astype(np.float32)
for kind in ["LINEAR", "POLY", "RBF", "SIGMOID"]:
    a = dict(kernel_type=kind, kernel_params=[0.3, 0.4, 3.0], support_vectors=support.ravel().tolist())
    ml("SVMRegressor", "vector_" + kind, one, coefficients=rng.normal(size=9).tolist(), rho=[0.2], n_supports=9, **a)
    for n, per in [(2, [4, 5]), (3, [2, 3, 4]), (4, [2, 2, 4, 1])]:
        a |= dict(coefficients=rng.normal(size=9 * (n - 1)).tolist(), rho=rng.normal(size=n * (n - 1) // 2).tolist(), vectors_per_class=per, classlabels_ints=list(range(5, 5 + n)))
        ml("SVMClassifier", f"vectors{n}_{kind}", lab, **a)
        ml("SVMClassifier", f"vectors{n}_{kind}_probabilities", lab, prob_a=rng.normal(size=n * (n - 1) // 2).tolist(), prob_b=rng.normal(size=n * (n - 1) // 2).tolist(), **a)
ml("SVMRegressor", "vector_one_class", one, coefficients=rng.normal(size=9).tolist(), rho=[0.2], n_supports=9, one_class=1, kernel_type="RBF", kernel_params=[0.3, 0.0, 0.0], support_vectors=support.ravel().tolist())
ml("SVMRegressor", "vector_linear", one, kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0], coefficients=rng.normal(size=4).tolist(), rho=[0.2])
ml("SVMClassifier", "vectors_linear", kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0], outs=[("l", T.STRING, None), ("y", T.FLOAT, None)], coefficients=rng.normal(size=12).tolist(), rho=[0.2], classlabels_strings=["a", "b", "c"])
for name, signs in [("mixed", [1, -1]), ("positive", [1, 1]), ("negative", [-1, -1])]:
    for k in range(4):
        weights = np.abs(rng.normal(size=(2, 4))) * np.array(signs)[:, None] * 0.5
        ml("SVMClassifier", f"vectors_linear2_{name}{k}", lab, kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0], coefficients=weights.ravel().tolist(), rho=[0.2 * k - 0.4], classlabels_ints=[4, 9])
for how in ["SUM", "AVERAGE", "MIN", "MAX"]:  # each tree has weights of one target
    nodes = dict(nodes_treeids=[0, 0, 0, 1, 1, 1], nodes_nodeids=[0, 1, 2] * 2, nodes_featureids=[0, 0, 0, 1, 0, 0], nodes_values=[0.0] * 6, nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * 2, nodes_truenodeids=[1, 0, 0] * 2, nodes_falsenodeids=[2, 0, 0] * 2)
    ml("TreeEnsembleRegressor", "trees_apart_" + how, one, n_targets=2, aggregate_function=how, target_treeids=[0, 0, 1, 1], target_nodeids=[1, 2, 1, 2], target_ids=[0, 0, 1, 1], target_weights=[5.0, 6.0, -7.0, -8.0], **nodes)


# As skl2onnx writes pipelines: columns of several types, a classifier, its scores as maps.
def pipeline(name, classes, **labels):
    maps = h.make_sequence_type_proto(h.make_map_type_proto(T.STRING if "classlabels_strings" in labels else T.INT64, h.make_tensor_type_proto(T.FLOAT, [])))
    nodes = [
        h.make_node("Scaler", ["x"], ["scaled"], domain="ai.onnx.ml", offset=[0.1] * 4, scale=[2.0] * 4),
        h.make_node("OneHotEncoder", ["city"], ["columns"], domain="ai.onnx.ml", cats_strings=["a", "b"], zeros=1),
        h.make_node("Reshape", ["columns", "flat"], ["columns2"]),
        h.make_node("Concat", ["scaled", "columns2"], ["all"], axis=1),
        h.make_node("LinearClassifier", ["all"], ["label", "raw"], domain="ai.onnx.ml", coefficients=rng.normal(size=6 * classes).tolist(), intercepts=[0.1] * classes, multi_class=1, post_transform="LOGISTIC", **{k.replace("int64s", "ints"): v for k, v in labels.items()}),
        h.make_node("Normalizer", ["raw"], ["scores"], domain="ai.onnx.ml", norm="L1"),
        h.make_node("ZipMap", ["scores"], ["output_probability"], domain="ai.onnx.ml", **labels),
    ]
    outs = [h.make_tensor_value_info("label", T.STRING if "classlabels_strings" in labels else T.INT64, ["N"]), h.make_value_info("output_probability", maps)]
    g = h.make_graph(nodes, name, [h.make_tensor_value_info("x", T.FLOAT, ["N", 4]), h.make_tensor_value_info("city", T.STRING, ["N", 1])], outs, [nh.from_array(np.array([-1, 2]), "flat")])
    save_graph(name, g, {"x": clean, "city": np.array(list("abzabab"), object)[:, None]})


pipeline("pipeline2", 2, classlabels_int64s=[0, 1])
pipeline("pipeline3", 3, classlabels_strings=["ja", "nein", "vielleicht"])
save("text_of_floats", [h.make_node("Cast", ["x"], ["y"], to=T.STRING)], [("x", T.FLOAT, ["N"])], strings, feeds={"x": np.array([1, 0.1, -2.5e-9, 123456789, 1e30, np.nan, np.inf, -np.inf, -0.0], np.float32)})
save("text_of_doubles", [h.make_node("Cast", ["x"], ["y"], to=T.STRING)], [("x", T.DOUBLE, ["N"])], strings, feeds={"x": np.array([1, 0.1, -2.5e-9, np.nan])})


# Networks, as exporters write them.
class Net:
    """Collects nodes and weights."""

    def __init__(self):
        self.nodes, self.inits, self.n = [], [], 0

    def w(self, *shape, scale=None, dtype=np.float32):
        fan = np.prod(shape[1:]) if len(shape) > 1 else shape[0]
        return self.const((rng.normal(size=shape) * (scale or 1 / np.sqrt(fan))).astype(dtype))

    def const(self, v):
        self.n += 1
        self.inits.append(nh.from_array(np.asarray(v), f"w{self.n}"))
        return f"w{self.n}"

    def op(self, kind, *ins, outs=1, **attrs):
        self.n += 1
        names = [f"{kind}.{self.n}:{i}" for i in range(outs)]
        self.nodes.append(h.make_node(kind, list(ins), names, name=f"/net/{kind}_{self.n}", **attrs))
        return names[0] if outs == 1 else names

    def conv(self, x, i, o, k=3, s=1, g=1, p=None, bias=True, **attrs):
        p = k // 2 if p is None else p
        return self.op("Conv", x, self.w(o, i // g, k, k), *([self.w(o, scale=0.1)] if bias else []), kernel_shape=[k, k], strides=[s, s], pads=[p] * 4, group=g, **attrs)

    def norm(self, x, c):
        return self.op("BatchNormalization", x, self.const(rng.uniform(0.5, 1.5, c).astype(np.float32)), self.w(c, scale=0.1), self.w(c, scale=0.1), self.const(rng.uniform(0.5, 1.5, c).astype(np.float32)))

    def ints(self, *v):
        return self.const(np.array(v, np.int64))

    def done(self, name, ins, outs, feeds, **more):
        rename = [h.make_node("Identity", [a], [f"y{i}"]) for i, (a, _) in enumerate(outs)]
        save(name, self.nodes + rename, ins, [(f"y{i}", t, None) for i, (_, t) in enumerate(outs)], self.inits, feeds=feeds, **more)


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32)


def resnet():
    n = Net()
    x = n.op("Relu", n.norm(n.conv("x", 3, 8, 7, 2, bias=False), 8))
    x = n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for i, o, s in [(8, 8, 1), (8, 16, 2)]:
        y = n.norm(n.conv(n.op("Relu", n.norm(n.conv(x, i, o, 3, s, bias=False), o)), o, o, bias=False), o)
        x = n.op("Relu", n.op("Add", y, x if i == o else n.norm(n.conv(x, i, o, 1, s, bias=False), o)))
    x = n.op("Flatten", n.op("GlobalAveragePool", x))
    x = n.op("Gemm", x, n.w(5, 16), n.w(5), transB=1)
    n.done("resnet", [("x", T.FLOAT, ["N", 3, 32, 32])], [(x, T.FLOAT)], {"x": f32(2, 3, 32, 32)})


def mobilenet():
    n = Net()
    six = [n.const(np.float32(0)), n.const(np.float32(6))]
    x = n.op("Clip", n.conv("x", 3, 8, 3, 2), *six)
    y = n.op("HardSwish", n.conv(x, 8, 16, 1))
    y = n.op("Clip", n.conv(y, 16, 16, 3, 1, g=16), *six)
    squeeze = n.op("HardSigmoid", n.conv(n.op("Relu", n.conv(n.op("ReduceMean", y, axes=[2, 3], keepdims=1), 16, 4, 1)), 4, 16, 1), alpha=1 / 6)
    x = n.op("Add", x, n.conv(n.op("Mul", y, squeeze), 16, 8, 1))
    x = n.op("Concat", *n.op("Split", x, n.ints(2, 6), outs=2, axis=1), axis=1)
    x = n.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, ceil_mode=1)
    shape = n.op("Shape", x)
    rows = n.op("Unsqueeze", n.op("Gather", shape, n.const(np.int64(0)), axis=0), n.ints(0))
    x = n.op("Reshape", x, n.op("Concat", rows, n.ints(-1), axis=0))
    n.done("mobilenet", [("x", T.FLOAT, ["N", 3, 16, 16])], [(x, T.FLOAT)], {"x": f32(3, 3, 16, 16)})


def unet():
    n = Net()
    a = n.op("LeakyRelu", n.conv("x", 1, 4), alpha=0.1)
    b = n.op("Elu", n.conv(n.op("MaxPool", a, kernel_shape=[2, 2], strides=[2, 2]), 4, 8, dilations=[1, 1]))
    c = n.op("InstanceNormalization", n.conv(n.op("AveragePool", b, kernel_shape=[2, 2], strides=[2, 2]), 8, 8, 3, 1, p=2, dilations=[2, 2]), n.w(8), n.w(8))
    up = n.op("ConvTranspose", c, n.w(8, 8, 2, 2), n.w(8), kernel_shape=[2, 2], strides=[2, 2])
    b = n.op("Concat", up, b, axis=1)
    up = n.op("Resize", b, "", n.const(np.array([1, 1, 2, 2], np.float32)), mode="linear", coordinate_transformation_mode="half_pixel")
    y = n.conv(n.op("Concat", up, a, axis=1), 20, 2, 1)
    y = n.op("Pad", y, n.ints(0, 0, 1, 2, 0, 0, 1, 0), mode="reflect")
    n.done("unet", [("x", T.FLOAT, ["N", 1, "H", "W"])], [(n.op("Sigmoid", y), T.FLOAT), (n.op("Softmax", y, axis=1), T.FLOAT)], {"x": f32(2, 1, 16, 24)})


def transformer(dtype=np.float32, name="transformer"):
    n, d, heads, t = Net(), 16, 4, T.FLOAT if dtype == np.float32 else T.FLOAT16
    one = lambda v: n.const(np.array(v, dtype))
    x = n.op("Gather", n.w(50, d, dtype=dtype, scale=1), "ids", axis=0)
    length = n.op("Gather", n.op("Shape", "ids"), n.const(np.int64(1)), axis=0)
    places = n.op("Range", n.const(np.int64(0)), length, n.const(np.int64(1)))
    x = n.op("Add", x, n.op("Gather", n.w(32, d, dtype=dtype, scale=1), places, axis=0))

    def norm(x):
        c = n.op("Sub", x, n.op("ReduceMean", x, axes=[-1]))
        v = n.op("ReduceMean", n.op("Pow", c, one(2)), axes=[-1])
        return n.op("Add", n.op("Mul", n.op("Div", c, n.op("Sqrt", n.op("Add", v, one(1e-3)))), n.w(d, dtype=dtype, scale=1)), n.w(d, dtype=dtype))

    def split(x):
        return n.op("Transpose", n.op("Reshape", x, n.ints(0, 0, heads, d // heads)), perm=[0, 2, 1, 3])

    q, k, v = n.op("Split", n.op("Add", n.op("MatMul", x, n.w(d, 3 * d, dtype=dtype)), n.w(3 * d, dtype=dtype)), outs=3, axis=-1)
    scores = n.op("Div", n.op("MatMul", split(q), n.op("Transpose", split(k), perm=[0, 1, 3, 2])), one(2))
    mask = n.op("Mul", n.op("Sub", one(1), n.op("Cast", n.op("Unsqueeze", n.op("Greater", "ids", n.const(np.int64(0))), n.ints(1, 2)), to=t)), one(-1e4))
    a = n.op("MatMul", n.op("Softmax", n.op("Add", scores, mask), axis=-1), split(v))
    a = n.op("Reshape", n.op("Transpose", a, perm=[0, 2, 1, 3]), n.ints(0, 0, d))
    x = norm(n.op("Add", x, n.op("MatMul", a, n.w(d, d, dtype=dtype))))
    y = n.op("MatMul", x, n.w(d, 32, dtype=dtype))
    y = n.op("Mul", n.op("Mul", y, n.op("Add", n.op("Erf", n.op("Div", y, one(2**0.5))), one(1))), one(0.5))
    x = n.op("LayerNormalization", n.op("Add", x, n.op("MatMul", y, n.w(32, d, dtype=dtype))), n.w(d, dtype=dtype, scale=1), n.w(d, dtype=dtype))
    first = n.op("Gather", x, n.const(np.int64(0)), axis=1)
    ids = rng.integers(0, 50, (3, 7))
    n.done(name, [("ids", T.INT64, ["N", "L"])], [(first, t), (n.op("ArgMax", x, axis=-1, keepdims=0), T.INT64)], {"ids": ids})


def recurrent():
    n = Net()
    x = n.op("Transpose", n.op("Gather", n.w(20, 6, scale=1), "ids"), perm=[1, 0, 2])
    y, last, _ = n.op("LSTM", x, n.w(2, 32, 6), n.w(2, 32, 8), n.w(2, 64), outs=3, hidden_size=8, direction="bidirectional")
    y = n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 1, 3]), n.ints(0, 0, -1))
    _, z = n.op("GRU", y, n.w(1, 15, 16), n.w(1, 15, 5), n.w(1, 30), outs=2, hidden_size=5, linear_before_reset=1)
    n.done("recurrent", [("ids", T.INT64, ["N", "L"])], [(last, T.FLOAT), (n.op("Squeeze", z, n.ints(0)), T.FLOAT)], {"ids": rng.integers(0, 20, (3, 9))})


def series():
    n = Net()
    x = n.op("Relu", n.op("Conv", "x", n.w(8, 2, 5), n.w(8), kernel_shape=[5], pads=[4, 0], dilations=[1]))
    x = n.op("Conv", x, n.w(8, 4, 3), kernel_shape=[3], pads=[2, 2], dilations=[2], group=2)
    x = n.op("PRelu", n.op("MaxPool", x, kernel_shape=[2], strides=[2]), n.w(8, 1, scale=1))
    x = n.op("GlobalMaxPool", n.op("ConvTranspose", x, n.w(8, 3, 4), kernel_shape=[4], strides=[2], pads=[1, 1]))
    n.done("series", [("x", T.FLOAT, ["N", 2, 30])], [(x, T.FLOAT)], {"x": f32(2, 2, 30)})


def detector():
    n = Net()
    x = n.op("Sigmoid", n.conv("x", 3, 7, 3, 2))
    x = n.op("Transpose", n.op("Reshape", x, n.ints(1, 7, -1)), perm=[0, 2, 1])
    boxes = n.op("Slice", x, n.ints(0), n.ints(4), n.ints(2))
    scores = n.op("Transpose", n.op("Slice", x, n.ints(4), n.ints(2**62), n.ints(-1)), perm=[0, 2, 1])
    keep = n.op("NonMaxSuppression", boxes, scores, n.ints(5), n.const(np.array([0.5], np.float32)), n.const(np.array([0.4], np.float32)), center_point_box=1)
    best, at = n.op("TopK", scores, n.ints(3), outs=2, axis=-1)
    n.done("detector", [("x", T.FLOAT, [1, 3, 16, 16])], [(keep, T.INT64), (best, T.FLOAT), (at, T.INT64)], {"x": f32(1, 3, 16, 16)})


def quantized():
    n = Net()
    q = lambda x, s, z, **a: n.op("DequantizeLinear", n.op("QuantizeLinear", x, n.const(np.float32(s)), n.const(np.uint8(z))), n.const(np.float32(s)), n.const(np.uint8(z)), **a)
    w = n.op("DequantizeLinear", n.const(rng.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)), n.const(rng.uniform(0.005, 0.02, 4).astype(np.float32)), n.const(np.zeros(4, np.int8)), axis=0)
    x = q(n.op("Relu", n.op("Conv", q("x", 0.03, 120), w, n.w(4), pads=[1] * 4)), 0.05, 0)
    y = n.op("QLinearConv", n.op("QuantizeLinear", x, n.const(np.float32(0.05)), n.const(np.uint8(3))), n.const(np.float32(0.05)), n.const(np.uint8(3)), n.const(rng.integers(0, 255, (2, 4, 3, 3)).astype(np.uint8)), n.const(np.float32(0.01)),
             n.const(np.uint8(127)), n.const(np.float32(0.07)), n.const(np.uint8(100)), n.const(rng.integers(-500, 500, 2).astype(np.int32)), pads=[1] * 4)
    z, scale, point = n.op("DynamicQuantizeLinear", n.op("Flatten", x), outs=3)
    m = n.op("MatMulInteger", z, n.const(rng.integers(-128, 128, (256, 5)).astype(np.int8)), point)
    n.done("quantized", [("x", T.FLOAT, ["N", 3, 8, 8])], [(y, T.UINT8), (m, T.INT32)], {"x": f32(2, 3, 8, 8)})


def control():
    n = Net()
    body = h.make_graph([h.make_node("Add", ["state", "step"], ["next"]), h.make_node("ReduceSum", ["next"], ["total"], keepdims=0), h.make_node("Less", ["total", "limit"], ["more"]),
                         h.make_node("Identity", ["next"], ["each"])], "body",
                        [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("go", T.BOOL, []), h.make_tensor_value_info("state", T.FLOAT, [2])],
                        [h.make_tensor_value_info("more", T.BOOL, []), h.make_tensor_value_info("next", T.FLOAT, [2]), h.make_tensor_value_info("each", T.FLOAT, [2])])
    n.nodes.append(h.make_node("ReduceMean", ["x"], ["step"], axes=[0], keepdims=0))
    n.inits.append(nh.from_array(np.float32(5), "limit"))
    last, each = n.op("Loop", n.const(np.int64(50)), "", n.const(np.zeros(2, np.float32)), outs=2, body=body)
    branch = lambda kind: h.make_graph([h.make_node(kind, ["x", "step"], ["r"])], kind, [], [h.make_tensor_value_info("r", T.FLOAT, None)])
    cond = n.op("Greater", n.op("ReduceMax", "x", keepdims=0), n.const(np.float32(0)))
    y = n.op("If", cond, then_branch=branch("Mul"), else_branch=branch("Sub"))
    n.done("control", [("x", T.FLOAT, ["N", 2])], [(last, T.FLOAT), (each, T.FLOAT), (y, T.FLOAT)], {"x": np.abs(f32(3, 2))})


def functions():
    f = h.make_function("local", "Scaled", ["a", "b"], ["c"], [h.make_node("Mul", ["a", "b"], ["p"]), h.make_node("LeakyRelu", ["p"], ["c"])], [h.make_opsetid("", 17)], ["alpha"])
    f.node[1].attribute.append(onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="alpha"))
    n = Net()
    x = n.op("Scaled", "x", n.w(3, scale=1), domain="local", alpha=0.25)
    x = n.op("Einsum", n.op("Scaled", x, x, domain="local", alpha=0.5), n.w(4, 3), equation="bi,oi->bo")
    n.done("functions", [("x", T.FLOAT, ["N", 3])], [(x, T.FLOAT)], {"x": f32(5, 3)}, functions=[f], external=True)


def dequantized():
    """What a quantizer writes as QuantizeLinear and DequantizeLinear around operators of floats."""
    n = Net()
    f, u, i = np.float32, np.uint8, lambda *shape: n.const(rng.integers(-64, 64, shape).astype(np.int8))
    q = lambda x, s, z: n.op("DequantizeLinear", n.op("QuantizeLinear", x, n.const(f(s)), n.const(u(z))), n.const(f(s)), n.const(u(z)))
    each = lambda w, k, axis: n.op("DequantizeLinear", w, n.const(rng.uniform(0.005, 0.02, k).astype(f)), n.const(np.zeros(k, np.int8)), axis=axis)
    x = q("x", 0.03, 120)
    y = q(n.op("Add", n.op("MatMul", x, each(i(20, 9), 9, 1)), n.w(9)), 0.02, 99)
    scores = n.op("MatMul", y, q(n.op("Transpose", y, perm=[0, 2, 1]), 0.02, 99))
    g = n.op("Gemm", q(n.op("Flatten", y), 0.02, 99), each(i(7, 54), 7, 0), n.w(7), transB=1, alpha=0.5, beta=2.0)
    image = q(n.op("Reshape", x, n.ints(0, 4, 5, 6)), 0.03, 120)
    c = n.op("Conv", image, each(i(8, 4, 3, 3), 8, 0), n.w(8), pads=[1, 1, 0, 1], strides=[2, 1])
    d = n.op("QuantizeLinear", n.op("Conv", q(c, 0.05, 128), each(i(8, 1, 3, 3), 8, 0), pads=[1] * 4, group=8), n.const(f(0.04)), n.const(u(90)))
    n.done("dequantized", [("x", T.FLOAT, ["N", 6, 20])], [(scores, T.FLOAT), (g, T.FLOAT), (c, T.FLOAT), (d, T.UINT8)], {"x": f32(3, 6, 20)})


for network in [resnet, mobilenet, unet, transformer, recurrent, series, detector, quantized, dequantized, control, functions]:
    network()
transformer(np.float16, "transformer_half")


# Images between their pixels, and images of open sizes.
def open_model(name, op, feeds, inits=(), opset=17, outs=("y",), fixed=(), domain="", names=None, **attrs):
    """One operator whose inputs have open sizes, but for those in fixed."""
    kinds = {np.dtype(a): h.np_dtype_to_tensor_dtype(np.dtype(a)) for a in ["float32", "float64", "float16", "int64", "int32", "uint8", "int8", "bool", "O"]}
    ins = [(k, kinds[v.dtype], list(v.shape) if k in fixed else [f"{k}{i}" for i in range(v.ndim)]) for k, v in feeds.items()]
    constants = [nh.from_array(np.asarray(v), k) for k, v in inits]
    node = h.make_node(op, names or [i[0] for i in ins] + [c.name for c in constants], list(outs), domain=domain, **attrs)
    g = h.make_graph([node], name, [h.make_tensor_value_info(*i) for i in ins], [onnx.ValueInfoProto(name=o) for o in outs if o], constants)
    save_graph(name, g, feeds, opset=opset)


regions = np.array([[0, 0, 20, 24], [-10, -7, 30, 60], [5, 6, 5, 6], [12.3, 4.4, 50.2, 30.1], [100, 100, 140, 150], [30, 30, 10, 10]], np.float32)
for mode in ["avg", "max"]:
    for opset, ratio, how in [(10, 2, ""), (16, 0, "half_pixel"), (16, 2, "output_half_pixel")]:
        more = {"coordinate_transformation_mode": how} if how else {}
        open_model(f"roi_{mode}_{opset}_{ratio}", "RoiAlign", {"x": f32(2, 3, 10, 13), "r": regions, "b": np.array([0, 1, 0, 1, 0, 1])}, opset=opset, mode=mode, sampling_ratio=ratio, output_height=3, output_width=5, spatial_scale=0.25, **more)
open_model("roi_none", "RoiAlign", {"x": f32(2, 3, 10, 13), "r": np.zeros((0, 4), np.float32), "b": np.zeros(0, np.int64)}, opset=16)
for padding in ["zeros", "border", "reflection"]:
    for align in [0, 1]:
        places = (rng.random((2, 4, 5, 2)) * 3 - 1.5).astype(np.float32)
        places[0, 0, :4] = [[-1, 1], [1, 1], [0, 0], [4.0, -3.7]]
        for mode in ["linear", "nearest"]:
            open_model(f"grid_{mode}_{padding}_{align}", "GridSample", {"x": f32(2, 3, 6, 7), "g": places}, opset=20, mode=mode, padding_mode=padding, align_corners=align)
            open_model(f"grid3_{mode}_{padding}_{align}", "GridSample", {"x": f32(2, 3, 4, 6, 7), "g": (rng.random((2, 3, 4, 5, 3)) * 3 - 1.5).astype(np.float32)}, opset=20, mode=mode, padding_mode=padding, align_corners=align)
        open_model(f"grid_cubic_{padding}_{align}", "GridSample", {"x": f32(2, 3, 6, 7), "g": places}, opset=16, mode="bicubic", padding_mode=padding, align_corners=align)
for mode, how, nearest in [("nearest", "asymmetric", "floor"), ("nearest", "half_pixel", "round_prefer_floor"), ("nearest", "pytorch_half_pixel", "ceil"), ("linear", "half_pixel", "floor"), ("linear", "align_corners", "floor"), ("cubic", "pytorch_half_pixel", "floor"), ("cubic", "align_corners", "floor")]:
    for size in [(17, 7), (1, 4), (30, 30)]:
        open_model(f"resize_open_{mode}_{how}_{size[0]}", "Resize", {"x": f32(1, 3, 9, 10), "s": np.array([1, 3, *size])}, fixed=["s"], names=["x", "", "", "s"], mode=mode, coordinate_transformation_mode=how, nearest_mode=nearest)
for policy in ["not_larger", "not_smaller"]:
    save(f"resize_{policy}", [h.make_node("Resize", ["x", "", "", "s"], ["y"], mode="linear", axes=[2, 3], keep_aspect_ratio_policy=policy)], [("x", T.FLOAT, [1, 2, 6, 9])], [("y", T.FLOAT, None)], [nh.from_array(np.array([4, 12]), "s")], opset=18, feeds={"x": f32(1, 2, 6, 9)})
for mode in ["constant", "reflect", "edge"]:
    open_model(f"pad_open_{mode}", "Pad", {"x": f32(4, 5), "p": np.array([1, 0, 2, 3])}, fixed=["p"], mode=mode)
open_model("pad_open_cut", "Pad", {"x": f32(4, 5), "p": np.array([-1, 2, 0, -3])}, fixed=["p"])
boxes = np.cumsum(rng.random((2, 9, 4)).astype(np.float32), -1)
open_model("boxes_open", "NonMaxSuppression", {"b": boxes, "s": rng.random((2, 3, 9)).astype(np.float32)}, [("n", np.array([4])), ("o", np.array([0.3], np.float32)), ("l", np.array([0.1], np.float32))])


# What ONNX Runtime's quantizer writes. Weights of 7 bits: products of 8 bits overflow in its kernels on some processors.
def quantized(kind, *shape):
    least, most = (-64, 64) if kind == np.int8 else (0, 256)
    return rng.integers(least, most, shape).astype(kind)


for t in [np.uint8, np.int8]:
    scales = {"a": ("as", np.float32(0.02), "az", t(3)), "b": ("bs", np.float32(0.03), "bz", t(11)), "c": ("cs", np.float32(0.04), "cz", t(5))}

    def qlinear(op, feeds, names, extra=(), **attrs):
        inits = [(s[i], s[i + 1]) for s in scales.values() for i in (0, 2)] + list(extra)
        open_model(f"{op}_{t.__name__}_{len(attrs) and list(attrs.values())[0]}", op, feeds, [i for i in inits if i[0] in names], names=names, domain="com.microsoft", fixed=list(feeds), **attrs)

    two = ["a", "as", "az", "b", "bs", "bz", "cs", "cz"]
    for op in ["QLinearAdd", "QLinearMul"]:
        qlinear(op, {"a": quantized(t, 33, 40), "b": quantized(t, 33, 1)}, two)
    qlinear("QLinearConcat", {"a": quantized(t, 5, 33), "b": quantized(t, 5, 12)}, ["cs", "cz", "a", "as", "az", "b", "bs", "bz"], axis=1)
    one_in = ["a", "as", "az", "cs", "cz"]
    qlinear("QLinearLeakyRelu", {"a": quantized(t, 33, 40)}, one_in, alpha=0.1)
    qlinear("QLinearSigmoid", {"a": quantized(t, 33, 40)}, one_in)
    for last in [0, 1]:
        qlinear("QLinearGlobalAveragePool", {"a": quantized(t, 2, 5, 7, 6)}, one_in, channels_last=last)
        qlinear("QLinearAveragePool", {"a": quantized(t, 2, 8, 9, 6)}, ["a", "as", "az", "ps", "cz"], [("ps", np.float32(0.0411))], channels_last=last, kernel_shape=[3, 2], strides=[2, 2])
    for trans in [0, 1]:
        b = ("b", quantized(t, *((7, 33) if trans else (33, 7))))
        qlinear("QGemm", {"a": quantized(t, 5, 33)}, ["a", "as", "az", "b", "bs", "bz", "added", "cs", "cz"], [b, ("added", rng.integers(-999, 999, 7).astype(np.int32))], transB=trans)
open_model("dynamic_zeros", "DynamicQuantizeLinear", {"x": np.zeros((3, 4), np.float32)}, outs=["y", "s", "z"])
for rows in [1, 7]: # one zero point, or one for each column
    columns = [("as", np.float32(0.01)), ("bs", rng.uniform(0.01, 0.02, rows).astype(np.float32)), ("az", np.uint8(120)), ("bz", rng.integers(-9, 9, rows).astype(np.int8)), ("c", f32(7))]
    open_model(f"matmul_to_float_{rows}", "MatMulIntegerToFloat", {"a": quantized(np.uint8, 2, 5, 33)}, [("b", quantized(np.int8, 33, 7))] + columns, names=["a", "b", "as", "bs", "az", "bz", "c"],
               domain="com.microsoft", fixed=["a"])
open_model("dynamic_matmul", "DynamicQuantizeMatMul", {"x": f32(5, 33)}, [("w", quantized(np.uint8, 33, 7)), ("ws", np.float32(0.01)), ("wz", np.uint8(120))], domain="com.microsoft", fixed=["x"])


# Parts of transformers, as ONNX Runtime's optimizer and exporters write them.
def transformer(name, op, feeds, inits=(), **more):
    open_model(name, op, feeds, inits, domain="com.microsoft", fixed=list(feeds), **more)


words = f32(2, 5, 12)
ones = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)
weights = [("w", f32(12, 36)), ("wb", f32(36))]
transformer("ms_attention", "Attention", {"x": words, "m": ones}, weights, names=["x", "w", "wb", "m"], num_heads=3)
transformer("ms_attention_lengths", "Attention", {"x": words, "m": np.array([5, 3], np.int32)}, weights, names=["x", "w", "wb", "m"], num_heads=3)
transformer("ms_attention_past", "Attention", {"x": words, "p": f32(2, 2, 3, 4, 4)}, weights, names=["x", "w", "wb", "", "p"], outs=["y", "q"], num_heads=3, unidirectional=1)
transformer("ms_heads", "MultiHeadAttention", {"q": words, "k": f32(2, 7, 12), "v": f32(2, 7, 12)}, [("b", f32(36))], names=["q", "k", "v", "b"], num_heads=3)
for length, past, last in [(5, 0, [4, 4]), (1, 6, [6, 4])]:
    angle = np.arange(32)[:, None] / 10000 ** (np.arange(8) / 8)
    feeds = {"q": f32(2, length, 64), "k": f32(2, length, 32), "v": f32(2, length, 32), "pk": f32(2, 2, past, 16), "pv": f32(2, 2, past, 16), "l": np.array(last, np.int32), "n": np.array(length + past, np.int32)}
    transformer(f"ms_groups_{length}", "GroupQueryAttention", feeds, [("cos", np.cos(angle).astype(np.float32)), ("sin", np.sin(angle).astype(np.float32))], outs=["y", "k2", "v2"], num_heads=4, kv_num_heads=2, do_rotary=1)
transformer("ms_skip_rms", "SkipSimplifiedLayerNormalization", {"x": words, "s": f32(2, 5, 12)}, [("g", f32(12))], outs=["y", "", "", "sum"])
transformer("ms_embed", "EmbedLayerNormalization", {"i": np.array([[1, 2, 3, 0, 4], [5, 6, 0, 0, 0]], np.int32), "k": ones, "m": ones}, [("we", f32(9, 12)), ("pe", f32(8, 12)), ("se", f32(2, 12)), ("g", f32(12)), ("b", f32(12))],
            names=["i", "k", "we", "pe", "se", "g", "b", "m"], outs=["y", "n"])
transformer("ms_conv", "FusedConv", {"x": f32(2, 3, 6, 5)}, [("w", f32(4, 3, 3, 3)), ("b", f32(4))], activation="LeakyRelu", activation_params=[0.1], pads=[1] * 4)
transformer("ms_batch_first", "FusedMatMul", {"a": f32(5, 2, 4), "b": f32(2, 3, 4)}, transBatchA=1, transB=1)

# A result whose size only data says, and a branch that depends on whether there is any of it.
chosen = h.make_graph([h.make_node("Gather", ["x", "at"], ["some"], axis=0), h.make_node("ReduceSum", ["some"], ["t1"], keepdims=0)], "then", [], [h.make_tensor_value_info("t1", T.FLOAT, [])])
nothing = h.make_graph([h.make_node("Constant", [], ["t2"], value=nh.from_array(np.float32(-7)))], "else", [], [h.make_tensor_value_info("t2", T.FLOAT, [])])
for name, v in [("some", f32(4)), ("none", -np.abs(f32(4)))]:
    steps = [h.make_node("Greater", ["x", "zero"], ["yes"]), h.make_node("NonZero", ["yes"], ["found"]), h.make_node("Transpose", ["found"], ["column"]), h.make_node("Squeeze", ["column", "one"], ["at"]),
             h.make_node("Size", ["at"], ["n"]), h.make_node("Greater", ["n", "no"], ["any"]), h.make_node("If", ["any"], ["y"], then_branch=chosen, else_branch=nothing)]
    save("data_says_" + name, steps, [("x", T.FLOAT, ["n"])], [("y", T.FLOAT, None)], [nh.from_array(np.float32(0), "zero"), nh.from_array(np.array([1]), "one"), nh.from_array(np.array(0), "no")], feeds={"x": v})

# As LightGBM's sets of categories are written: a chain of nodes that go on at the same one.
chain = dict(nodes_treeids=[0] * 5, nodes_nodeids=[0, 1, 2, 3, 4], nodes_featureids=[3, 3, 3, 0, 0], nodes_values=[1.0, 3.0, 4.0, 0.0, 0.0], nodes_modes=["BRANCH_EQ"] * 3 + ["LEAF"] * 2, nodes_truenodeids=[3, 3, 3, 0, 0], nodes_falsenodeids=[1, 2, 4, 0, 0])
steps = np.concatenate([f32(6, 3), np.arange(6, dtype=np.float32)[:, None]], 1)
ml("TreeEnsembleRegressor", "trees_shared", one, feeds=steps, n_targets=1, target_treeids=[0, 0], target_nodeids=[3, 4], target_ids=[0, 0], target_weights=[5.0, -6.0], **chain)

# Normalizations whose images are open in all sizes, and of half floats, whose moments are not rounded to them.
for t in [np.float32, np.float16]:
    moments = [(n, v.astype(t)) for n, v in [("s", f32(6)), ("b", f32(6)), ("m", f32(6) + 10), ("v", np.abs(f32(6)) + 0.1)]]
    for shape in [(5, 6), (2, 6, 7), (2, 6, 3, 4)]:
        open_model(f"norm_{t.__name__}_{len(shape)}", "BatchNormalization", {"x": (f32(*shape) + 10).astype(t)}, moments)

# Weights of a few bits, with a scale for each block, as language models have them.
for size, rows, block in [(64, 8, 32), (40, 5, 16)]:
    count = (size + block - 1) // block
    bits = [("w", rng.integers(0, 256, (rows, count, block // 2)).astype(np.uint8)), ("ws", np.abs(f32(rows * count)))]
    zeros = [("wz", rng.integers(0, 256, rows * ((count + 1) // 2)).astype(np.uint8))]
    for more in [[], zeros]:
        transformer(f"ms_bits_{size}_{len(more)}", "MatMulNBits", {"a": f32(2, 3, size)}, bits + more, K=size, N=rows, bits=4, block_size=block)
for kind in [T.INT4, T.UINT4]:
    low = -8 if kind == T.INT4 else 0
    w = h.make_tensor("w", kind, [32, 7], rng.integers(low, low + 16, 224))
    for block in [0, 16]:
        sizes = [32 // block, 7] if block else [7]
        axis = {"axis": 0, "block_size": block} if block else {"axis": 1}
        zero = h.make_tensor("z", kind, sizes, rng.integers(low, low + 16, int(np.prod(sizes))))
        steps = [h.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], **axis), h.make_node("Mul", ["x", "d"], ["m"]), h.make_node("QuantizeLinear", ["m", "s", "z"], ["q"], **axis), h.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **axis)]
        save(f"four_bits_{kind}_{block}", steps, [("x", T.FLOAT, [32, 7])], [("y", T.FLOAT, None)], [w, zero, nh.from_array(np.abs(f32(*sizes)), "s")], opset=21, feeds={"x": f32(32, 7)})

# Pools that are dilated.
for n in [1, 2, 3]:
    for last in [0, 1]:
        open_model(f"pool_dilated_{n}_{last}", "AveragePool", {"x": f32(1, 2, *[9, 8, 7][:n])}, opset=19, dilations=[2] * n, kernel_shape=[2] * n, pads=[last] * 2 * n)
for order in [0, 1]:
    open_model(f"unique_{order}", "Unique", {"x": np.array([[3, 1, -2, 3], [1, 1, 0, -2]])}, outs=["y", "i", "v", "c"], sorted=order)
open_model("unique_slices", "Unique", {"x": np.array([[3, 1], [1, 1], [3, 1]], np.float32)}, outs=["y", "i", "v", "c"], sorted=0, axis=0)
open_model("unique_rows", "Unique", {"x": np.array([[3, 1], [1, 2], [3, 1], [1, -1]], np.float32)}, outs=["y", "i", "v", "c"], axis=0)
open_model("unique_columns", "Unique", {"x": np.array([[3, 1, 3], [1, 2, 1]])}, outs=["y", "i", "v", "c"], axis=-1)
open_model("unique_words", "Unique", {"x": np.array([["b", "a"], ["", "b"]], object)}, outs=["y", "i", "v", "c"])

# The places of the largest elements of padded, dilated and partial windows.
for n in [1, 2, 3]:
    for i, a in enumerate([{"pads": [1] * 2 * n}, {"dilations": [2] * n}, {"ceil_mode": 1, "strides": [2] * n}, {"ceil_mode": 1, "strides": [2] * n, "pads": [1] * n + [0] * n, "storage_order": 1}, {"storage_order": 1}]):
        open_model(f"pool_places_{n}_{i}", "MaxPool", {"x": rng.integers(-9, 9, (2, 3, *[6, 8, 7][:n])).astype(np.float32)}, outs=["y", "at"], kernel_shape=[3, 2, 2][:n], **a)
open_model("pool_places_bytes", "MaxPool", {"x": rng.integers(-9, 9, (1, 2, 5, 5)).astype(np.int8)}, outs=["y", "at"], kernel_shape=[2, 2], pads=[1, 0, 0, 1])

# Products of elements with those that are put to the same place.
for t in [np.float32, np.float64, np.int64, np.int32]:
    data = (f32(4, 3) * 5).astype(t)
    open_model(f"scatter_products_{t.__name__}", "ScatterElements", {"x": data, "i": np.array([[0, 1, -1], [0, 0, 3]]), "u": (f32(2, 3) * 5).astype(t)}, opset=18, axis=0, reduction="mul")
    open_model(f"scatter_slices_{t.__name__}", "ScatterND", {"x": data, "i": np.array([[1], [-1], [1]]), "u": (f32(3, 3) * 5).astype(t)}, opset=18, reduction="mul")
    open_model(f"scatter_places_{t.__name__}", "ScatterND", {"x": data, "i": np.array([[1, 2], [-1, 0], [1, -1]]), "u": (f32(3) * 5).astype(t)}, opset=18, reduction="mul")
open_model("scatter_nothing", "ScatterElements", {"x": f32(3, 2), "i": np.zeros((0, 2), np.int64), "u": f32(0, 2)}, opset=18, axis=0, reduction="mul")


# Sequences whose lengths only a request says.
def lists(name, nodes, outs, feeds, opset=17):
    ins = [(k, h.np_dtype_to_tensor_dtype(v.dtype), [f"{k}{i}" for i in range(v.ndim)]) for k, v in feeds.items()]
    inits = [nh.from_array(np.array(v), k) for k, v in [("zero", 0), ("one", 1), ("last", -1), ("yes", True), ("shape", [-1])]]
    g = h.make_graph(nodes, name, [h.make_tensor_value_info(*i) for i in ins], [onnx.ValueInfoProto(name=o) for o in outs], inits)
    save_graph(name, g, feeds, opset=opset)


def info(name, kind=T.FLOAT, seq=False):
    t = h.make_tensor_type_proto(kind, None)
    return h.make_value_info(name, h.make_sequence_type_proto(t) if seq else t)


def body(nodes, outs, seq=True):
    return h.make_graph(nodes, "body", [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("c", T.BOOL, []), info("l", seq=seq)], [h.make_tensor_value_info("c2", T.BOOL, []), *outs])


keep = h.make_node("Identity", ["c"], ["c2"])
rows = [h.make_node("Gather", ["x", "i"], ["row"], axis=0), h.make_node("Mul", ["row", "row"], ["item"])]
grow = body([keep, *rows, h.make_node("SequenceInsert", ["l", "item"], ["l2"])], [info("l2", seq=True)])
front = body([keep, *rows, h.make_node("SequenceInsert", ["l", "item", "zero"], ["l2"])], [info("l2", seq=True)])
count = [h.make_node("Shape", ["x"], ["sizes"]), h.make_node("Gather", ["sizes", "zero"], ["n"])]
empty = h.make_node("SequenceEmpty", [], ["e"])
x = {"x": f32(4, 3)}
lists("list_stack", [*count, empty, h.make_node("Loop", ["n", "yes", "e"], ["s"], body=grow), h.make_node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1)], ["y"], x)
lists("list_concat", [*count, empty, h.make_node("Loop", ["n", "yes", "e"], ["s"], body=grow), h.make_node("ConcatFromSequence", ["s"], ["y"], axis=0), h.make_node("SequenceLength", ["s"], ["k"])], ["y", "k"], x)
lists("list_front", [*count, empty, h.make_node("Loop", ["n", "yes", "e"], ["s"], body=front), h.make_node("SequenceErase", ["s", "one"], ["r"]), h.make_node("SequenceErase", ["r"], ["q"]), h.make_node("ConcatFromSequence", ["q"], ["y"], axis=0),
      h.make_node("SequenceAt", ["s", "last"], ["z"]), h.make_node("SequenceInsert", ["s", "z", "last"], ["p"]), h.make_node("ConcatFromSequence", ["p"], ["w"], axis=0)], ["y", "z", "w"], x)
# A body that reads what it has put in, of other sizes than what was there before.
fresh = body([keep, h.make_node("SequenceAt", ["l", "last"], ["had"]), h.make_node("Concat", ["had", "had"], ["item"], axis=1), h.make_node("SequenceInsert", ["l", "item"], ["l2"])], [info("l2", seq=True)])
lists("list_grows", [h.make_node("SequenceConstruct", ["x"], ["e"]), h.make_node("Loop", ["k", "yes", "e"], ["s"], body=fresh), h.make_node("ConcatFromSequence", ["s"], ["y"], axis=1), h.make_node("SequenceAt", ["s", "at"], ["z"])], ["y", "z"], {**x, "k": np.array(3), "at": np.array(-2)})
short = h.make_graph([h.make_node("SequenceConstruct", ["x"], ["a"])], "short", [], [info("a", seq=True)])
long = h.make_graph([h.make_node("Neg", ["x"], ["m"]), h.make_node("SequenceConstruct", ["x", "m"], ["b"])], "long", [], [info("b", seq=True)])
for c in [True, False]:
    lists(f"list_branch_{c}", [h.make_node("If", ["c"], ["s"], then_branch=short, else_branch=long), h.make_node("ConcatFromSequence", ["s"], ["y"], axis=1)], ["y"], {"c": np.array(c), **x})
add = h.make_graph([h.make_node("Add", ["u", "v"], ["w"]), h.make_node("Shape", ["u"], ["t"])], "add", [info("u"), info("v")], [info("w"), info("t", T.INT64)])
lists("list_map", [*count, empty, h.make_node("Loop", ["n", "yes", "e"], ["s"], body=grow), h.make_node("SequenceMap", ["s", "x0"], ["m", "t"], body=add), h.make_node("ConcatFromSequence", ["m"], ["y"], axis=0), h.make_node("ConcatFromSequence", ["t"], ["z"], axis=0)], ["y", "z"], {**x, "x0": f32(3)})
lists("list_map_known", [h.make_node("SequenceConstruct", ["x", "x0"], ["s"]), h.make_node("SequenceMap", ["s", "s"], ["m", "t"], body=add), h.make_node("ConcatFromSequence", ["m"], ["y"], axis=0)], ["y"], {**x, "x0": f32(2, 3)})
for axis in [0, 1]:
    lists(f"list_split_{axis}", [h.make_node("SplitToSequence", ["x", "k"], ["s"], axis=axis), h.make_node("SequenceAt", ["s", "last"], ["z"]), h.make_node("ConcatFromSequence", ["s"], ["y"], axis=axis)], ["y", "z"], {"x": f32(5, 5), "k": np.array(2)})
    lists(f"list_split_sizes_{axis}", [h.make_node("SplitToSequence", ["x", "k"], ["s"], axis=axis), h.make_node("SequenceAt", ["s", "last"], ["z"])], ["z"], {"x": f32(5, 5), "k": np.array([1, 4])})
    for keep_ in [0, 1]:
        lists(f"list_split_ones_{axis}_{keep_}", [h.make_node("SplitToSequence", ["x"], ["s"], axis=axis, keepdims=keep_), h.make_node("SequenceAt", ["s", "last"], ["z"]), h.make_node("SequenceLength", ["s"], ["k"])], ["z", "k"], {"x": f32(5, 4)})

# Ranks that follow where only a request says the sizes.
steps = [h.make_node("OneHot", ["i", "d", "ends"], ["hot"]), h.make_node("Cast", ["hot"], ["hot2"], to=T.FLOAT), h.make_node("Einsum", ["x", "hot2"], ["g"], equation="...nd,...ng->...gd"), h.make_node("MatMul", ["g", "w"], ["y"])]
feeds = {"i": rng.integers(0, 3, (2, 5)), "x": f32(2, 5, 4), "d": np.array([3])}
ins = [(k, h.np_dtype_to_tensor_dtype(v.dtype), [f"{k}{i}" for i in range(v.ndim)]) for k, v in feeds.items()]
save("rank_one_hot", steps, ins, [("y", T.FLOAT, None)], [nh.from_array(np.array([0, 1]), "ends"), nh.from_array(f32(4, 2), "w")], feeds=feeds)
steps = [h.make_node("ReduceMax", ["i"], ["most"], keepdims=0), h.make_node("Unsqueeze", ["most", "zero"], ["n"]), h.make_node("Concat", ["n", "four"], ["sizes"], axis=0), h.make_node("ConstantOfShape", ["sizes"], ["zeros"]), h.make_node("Shape", ["zeros"], ["s"]),
         h.make_node("Expand", ["x", "s"], ["wide"]), h.make_node("Reshape", ["wide", "same"], ["y"]), h.make_node("ArgMax", ["wide"], ["at"], axis=1, keepdims=0), h.make_node("Unsqueeze", ["at", "last"], ["z"])]
feeds = {"i": rng.integers(1, 3, (2, 5)), "x": f32(1, 4)}
ins = [(k, h.np_dtype_to_tensor_dtype(v.dtype), [f"{k}{i}" for i in range(v.ndim)]) for k, v in feeds.items()]
save("rank_expand", steps, ins, [("y", T.FLOAT, None), ("z", T.INT64, None)], [nh.from_array(np.array([v]), k) for k, v in [("zero", 0), ("four", 4), ("last", -1)]] + [nh.from_array(np.array([0, -1, 2]), "same")], feeds=feeds)
# A pool with indices of images of a known size, as PyTorch writes it.
save("pool_places_known", [h.make_node("MaxPool", ["x"], ["y", "at"], kernel_shape=[2, 2], strides=[2, 2])], [("x", T.FLOAT, [1, 2, 5, 6])], [("y", T.FLOAT, None), ("at", T.INT64, None)], feeds={"x": f32(1, 2, 5, 6)})
# Nodes that come before those that make their inputs, as ONNX Runtime's converter to float16 leaves them.
save("order_behind", [h.make_node("Abs", ["whole"], ["r"]), h.make_node("Cast", ["r"], ["y"], to=T.FLOAT), h.make_node("Cast", ["x"], ["whole"], to=T.INT32)], [("x", T.FLOAT, [4])], [("y", T.FLOAT, None)], feeds={"x": f32(4)})
for kind in [0, 1]:
    for size, rows in [(64, 8), (40, 6)]:
        transformer(f"ms_bnb_{kind}_{size}", "MatMulBnb4", {"a": f32(2, 3, size)}, [("w", rng.integers(0, 256, size * rows // 2).astype(np.uint8)), ("ws", np.abs(f32((size * rows + 15) // 16)))], K=size, N=rows, quant_type=kind, block_size=16)

# Sums of products of bytes beyond 32 bits, which wrap around, and a bias that float32 does not hold.
full = np.full((2, 40000), 255, np.uint8)
save("matmul_wraps", [h.make_node("MatMulInteger", ["x", "w"], ["y"])], [("x", T.UINT8, [2, 40000])], [("y", T.INT32, None)], [nh.from_array(full.T[:, :1].copy(), "w")], feeds={"x": full})
one_scale, rows_zero = nh.from_array(np.float32(1), "s"), nh.from_array(np.uint8(0), "z")
bias = nh.from_array(np.array([2**24 + 1, -(2**25) - 3, 5, 7], np.int32), "b")
save("quantized_bias", [h.make_node("QLinearConv", ["x", "s", "z", "w", "s", "z", "s", "z", "b"], ["q"], group=2), h.make_node("Cast", ["q"], ["y"], to=T.INT32)], [("x", T.UINT8, [1, 2, 3, 3])], [("y", T.INT32, None)],
     [nh.from_array(rng.integers(0, 3, (4, 1, 1, 1)).astype(np.uint8), "w"), one_scale, rows_zero, bias], feeds={"x": rng.integers(0, 9, (1, 2, 3, 3)).astype(np.uint8)})

# A normalization of layers as tf2onnx writes it: the rows of a batch are the channels of one image.
steps = [h.make_node("Reshape", ["x", "image"], ["u"]), h.make_node("ReduceMean", ["u"], ["m"], axes=[0, 2, 3], keepdims=0), h.make_node("Shape", ["m"], ["n"]), h.make_node("Expand", ["one", "n"], ["ones"]), h.make_node("Expand", ["nought", "n"], ["zeros"]),
         h.make_node("Add", ["ones", "m"], ["v"]), h.make_node("BatchNormalization", ["u", "ones", "zeros", "m", "v"], ["w"], epsilon=0.001), h.make_node("Reshape", ["w", "rows"], ["y"])]
for n in [1, 3, 40]:
    save(f"norm_rows_{n}", steps, [("x", T.FLOAT, ["n", 2, 5])], [("y", T.FLOAT, None)], [nh.from_array(np.array([1, -1, 5, 1]), "image"), nh.from_array(np.array([-1, 2, 5]), "rows"), nh.from_array(np.float32([1]), "one"), nh.from_array(np.float32([0]), "nought")], feeds={"x": np.abs(f32(n, 2, 5))})
first, next_ = nh.from_array(np.array([0]), "first"), nh.from_array(np.array([2]), "next")
save("unique_cut", [h.make_node("Unique", ["x"], ["u", "i", "v", "c"]), *[h.make_node("Slice", [k, "first", "next"], [k + "2"]) for k in "uivc"]], [("x", T.INT64, ["n"])], [(k + "2", T.INT64, None) for k in "uivc"], [first, next_], feeds={"x": np.array([3, 1, 3, 2])})

# Trees of float64, whose numbers are tensors. Features lie so close to what they are compared with that float32 has one number for both.
def wide_trees(kind, ids, positive):
    t = trees(kind, ids, positive)
    for k in ["nodes_values", kind + "_weights"]:
        t[k + "_as_tensor"] = nh.from_array(np.array(t.pop(k)) + 1e-3, k)
    return t


def close_rows(t, n=12):
    values = nh.to_array(t["nodes_values_as_tensor"])
    rows = rng.normal(size=(n, 4))
    for f in range(4):
        near = values[[i for i, k in enumerate(t["nodes_featureids"]) if k == f and t["nodes_modes"][i] != "LEAF"]]
        if len(near):
            rows[: n // 2, f] = rng.choice(near, n // 2) + rng.choice([-1e-12, 0, 1e-12], n // 2)
    rows[-1, 2] = np.nan
    return rows


for agg in ["SUM", "AVERAGE", "MIN", "MAX"]:
    t = wide_trees("target", [0, 1], False)
    of("TreeEnsembleRegressor", "wide_trees_" + agg, close_rows(t), floats, n_targets=2, aggregate_function=agg, base_values_as_tensor=nh.from_array(np.array([0.5, 1e9])), **t)
for p in ["NONE", "LOGISTIC", "SOFTMAX"]:
    for positive in [True, False]:
        for ids in [[0], [1], [0, 1], [0, 1, 2]]:
            t = wide_trees("class", ids, positive)
            of("TreeEnsembleClassifier", f"wide_forest_{p}_{positive}_{len(ids)}_{ids[0]}", close_rows(t), lab, post_transform=p, classlabels_int64s=[4, 5, 6][: max(2, len(ids))], **t)
for ids in [[0], [1], [0, 1]]:  # ONNX Runtime answers 0 and 1 where both classes have weights, unless the names are texts
    of("TreeEnsembleClassifier", f"forest_names_{len(ids)}_{ids[0]}", clean, lab, classlabels_int64s=[4, 5], **trees("class", ids, True))
    of("TreeEnsembleClassifier", f"forest_texts_{len(ids)}_{ids[0]}", clean, [("l", T.STRING, None), ("y", T.FLOAT, None)], classlabels_strings=["a", "b"], **trees("class", ids, True))
t = trees("target", [0], False)
of("TreeEnsembleRegressor", "trees_of_tensors", clean, floats, n_targets=1, nodes_values_as_tensor=nh.from_array(np.array(t.pop("nodes_values"), np.float32)), **t)

# Regions of images that a request says, and those of a loop over boxes, as tf2onnx writes tf.image.crop_and_resize.
image = rng.normal(size=(1, 3, 7, 9)).astype(np.float32)
crops = {"inside": [0.1, 0.2, 0.7, 0.9], "outside": [-0.3, 0.8, 1.4, 0.1], "whole": [0, 0, 1, 1]}
for mode in ["linear", "nearest"]:
    a = dict(mode=mode, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=-7.5)
    for name, (y1, x1, y2, x2) in crops.items():
        region = np.array([0, 0, y1, x1, 1, 1, y2, x2], np.float32)
        for rows, columns in [(4, 5), (1, 12), (7, 9)]:
            sizes = nh.from_array(np.array([1, 3, rows, columns]), "sizes")
            for sort, shape in [("fixed", [1, 3, 7, 9]), ("open", [1, 3, "h", "w"])]:
                save(f"regions_{mode}_{name}_{rows}_{sort}", [h.make_node("Resize", ["x", "region", "", "sizes"], ["y"], **a)], [("x", T.FLOAT, shape), ("region", T.FLOAT, [8])], [("y", T.FLOAT, None)], [sizes], opset=13, feeds={"x": image, "region": region})
    body = h.make_graph(
        [
            h.make_node("Unsqueeze", ["i", "zero"], ["from"]), h.make_node("Add", ["from", "one"], ["to"]),
            h.make_node("Slice", ["index", "from", "to"], ["n"]), h.make_node("Add", ["n", "one32"], ["m"]), h.make_node("Slice", ["x", "n", "m", "zero32"], ["each"]),
            h.make_node("Transpose", ["each"], ["image"], perm=[0, 3, 1, 2]), h.make_node("Slice", ["boxes", "from", "to", "zero"], ["row"]), h.make_node("Reshape", ["row", "four"], ["box"]),
            h.make_node("Slice", ["box", "zero", "two"], ["begin"]), h.make_node("Slice", ["box", "two", "four"], ["end"]), h.make_node("Concat", ["zeros", "begin", "ones", "end"], ["region"], axis=0),
            h.make_node("Shape", ["image"], ["shape"]), h.make_node("Slice", ["shape", "zero", "two"], ["outer"]), h.make_node("Concat", ["outer", "crop"], ["sizes"], axis=0),
            h.make_node("Resize", ["image", "region", "", "sizes"], ["part"], **a), h.make_node("Transpose", ["part"], ["last"], perm=[0, 2, 3, 1]), h.make_node("Squeeze", ["last", "zero"], ["y"]), h.make_node("Identity", ["go"], ["on"]),
        ],
        "body", [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("go", T.BOOL, [])], [h.make_tensor_value_info("on", T.BOOL, []), h.make_tensor_value_info("y", T.FLOAT, [None] * 3)],
        [nh.from_array(np.array(v, t), k) for k, v, t in [("zero", [0], "int64"), ("one", [1], "int64"), ("two", [2], "int64"), ("four", [4], "int64"), ("zero32", [0], "int32"), ("one32", [1], "int32"), ("zeros", [0, 0], "float32"), ("ones", [1, 1], "float32")]])
    feeds = {"x": np.concatenate([image, -image]).transpose(0, 2, 3, 1).copy(), "boxes": np.array(list(crops.values()), np.float32), "index": np.array([1, 0, 1], np.int32)}
    nodes = [h.make_node("Size", ["index"], ["count"]), h.make_node("Loop", ["count", ""], ["y"], body=body)]
    save("regions_loop_" + mode, nodes, [("x", T.FLOAT, ["n", 7, 9, 3]), ("boxes", T.FLOAT, ["k", 4]), ("index", T.INT32, ["k"])], [("y", T.FLOAT, [None] * 4)], [nh.from_array(np.array([4, 5]), "crop")], opset=13, feeds=feeds)

# Branches whose results have different ranks, of which the later operators know none.
then = h.make_graph([h.make_node("Reshape", ["x", "flat"], ["a"])], "then", [], [h.make_tensor_value_info("a", T.FLOAT, None)])
other = h.make_graph([h.make_node("Identity", ["x"], ["b"])], "else", [], [h.make_tensor_value_info("b", T.FLOAT, None)])
for flat, axis in [(False, 1), (False, 0), (True, 0)]:
    nodes = [h.make_node("If", ["c"], ["any"], then_branch=then, else_branch=other), h.make_node("TopK", ["any", "k"], ["y", "at"], largest=axis), h.make_node("Mod", ["at", "k"], ["i"]), h.make_node("Sub", ["i", "k"], ["back"]), h.make_node("GatherElements", ["any", "back"], ["z"], axis=axis)]
    consts = [nh.from_array(np.array([-1]), "flat"), nh.from_array(np.array([2]), "k")]
    save(f"no_rank_{flat}_{axis}", nodes, [("c", T.BOOL, []), ("x", T.FLOAT, [2, 5])], [("y", T.FLOAT, None), ("at", T.INT64, None), ("z", T.FLOAT, None)], consts, opset=13, feeds={"c": np.array(flat), "x": rng.normal(size=(2, 5)).astype(np.float32)})

# Sequences, and what may be left out, as inputs and outputs. A sequence is one tensor here.
def sequences(name, nodes, ins, outs, feeds, inits=()):
    save_graph(name, h.make_graph(nodes, name, ins, outs, list(inits)), feeds)


def sequence_of(name, t, shape):
    return h.make_tensor_sequence_value_info(name, t, shape)


def perhaps(name, inner):
    return h.make_value_info(name, h.make_optional_type_proto(inner))


pieces = [rng.normal(size=(2, 3)).astype(np.float32) for _ in range(4)]
tensor_of = h.make_tensor_value_info
last = nh.from_array(np.array(-1), "last")
for sort, shape in [("fixed", [2, 3]), ("open", [2, "n"])]:
    nodes = [h.make_node("ConcatFromSequence", ["x"], ["y"], axis=1), h.make_node("SequenceLength", ["x"], ["n"]), h.make_node("SequenceAt", ["x", "last"], ["z"]), h.make_node("SequenceErase", ["x", "last"], ["rest"]), h.make_node("SequenceInsert", ["rest", "t"], ["more"])]
    outs = [tensor_of("y", T.FLOAT, None), tensor_of("n", T.INT64, None), tensor_of("z", T.FLOAT, None), sequence_of("more", T.FLOAT, None)]
    sequences("sequence_in_" + sort, nodes, [sequence_of("x", T.FLOAT, shape), tensor_of("t", T.FLOAT, [2, 3])], outs, {"x": pieces, "t": pieces[0] * 2}, [last])
sequences("sequence_of_one", [h.make_node("ConcatFromSequence", ["x"], ["y"], axis=0, new_axis=1)], [sequence_of("x", T.STRING, ["k"])], [tensor_of("y", T.STRING, None)], {"x": [np.array(["a", "bc"], object)]})
for keep in [0, 1]:
    sequences(f"sequence_out_{keep}", [h.make_node("SplitToSequence", ["x"], ["y"], axis=0, keepdims=keep)], [tensor_of("x", T.FLOAT, ["n", 3])], [sequence_of("y", T.FLOAT, None)], {"x": np.concatenate(pieces)})
nodes = [h.make_node("OptionalHasElement", ["x"], ["has"]), h.make_node("OptionalGetElement", ["x"], ["v"]), h.make_node("Neg", ["v"], ["y"])]
sequences("optional_in", nodes, [perhaps("x", h.make_tensor_type_proto(T.FLOAT, [2, 3]))], [tensor_of("has", T.BOOL, []), tensor_of("y", T.FLOAT, [2, 3])], {"x": pieces[0]})
nodes = [h.make_node("OptionalGetElement", ["x"], ["v"]), h.make_node("ConcatFromSequence", ["v"], ["y"], axis=0)]
sequences("optional_sequence_in", nodes, [perhaps("x", h.make_sequence_type_proto(h.make_tensor_type_proto(T.FLOAT, [2, 3])))], [tensor_of("y", T.FLOAT, None)], {"x": pieces})
