"""Models of images: Keras's applications, detection, segmentation, and what is done to pixels before and after."""
import numpy as np
import tensorflow as tf

from served import F, I, L, S, Served, f32, kept, keras, one, picture, r, text

apps = tf.keras.applications


def app(make, size, **k):
    return keras(make(weights=None, input_shape=(size, size, 3), **k), [f32(2, size, size, 3) * 50 + 128])


def efficientnet_b0():
    return app(apps.EfficientNetB0, 64, classes=5)


def efficientnet_v2():
    return app(apps.EfficientNetV2B0, 64, classes=5)


def mobilenet_v1():
    return app(apps.MobileNet, 64, classes=5)


def mobilenet_v3_small():
    return app(apps.MobileNetV3Small, 64, classes=5)


def mobilenet_v3_large():
    return app(apps.MobileNetV3Large, 64, classes=5)


def resnet50():
    return app(apps.ResNet50, 64, classes=5)


def resnet50_v2():
    return app(apps.ResNet50V2, 64, classes=5)


def densenet121():
    return app(apps.DenseNet121, 64, classes=5)


def inception_v3():
    return app(apps.InceptionV3, 80, classes=5)


def xception():
    return app(apps.Xception, 72, classes=5)


def nasnet_mobile():
    return app(apps.NASNetMobile, 64, classes=5)


def convnext_tiny():
    return app(apps.ConvNeXtTiny, 64, classes=5)


def regnet_x():
    return app(apps.RegNetX002, 64, classes=5)


def regnet_y():
    return app(apps.RegNetY002, 64, classes=5)


def vgg16_features():
    return app(apps.VGG16, 48, include_top=False, pooling="avg")


def backbone(x, widths=(8, 16, 16)):
    maps = []
    for w in widths:
        x = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(w, 3, 2, padding="same", use_bias=False)(x)))
        maps.append(x)
    return maps


def decode(anchors, t):
    center = anchors[:, :2] + t[..., :2] * 0.1 * anchors[:, 2:]
    half = anchors[:, 2:] * tf.exp(t[..., 2:] * 0.2) / 2
    return tf.concat([center - half, center + half], -1)


def grid(n, scale):
    at = (tf.range(n, dtype=F) + 0.5) / n
    y, x = tf.meshgrid(at, at, indexing="ij")
    c = tf.reshape(tf.stack([y, x], -1), (-1, 2))
    return tf.concat([c, tf.fill(tf.shape(c), scale)], -1)


def ssd_mobilenet():
    i = L.Input((32, 32, 3))
    a, b, c = backbone(i)
    box = L.Concatenate(1)([L.Reshape((-1, 4))(L.Conv2D(4, 3, padding="same")(m)) for m in (b, c)])
    score = L.Concatenate(1)([L.Reshape((-1, 3))(L.Conv2D(3, 3, padding="same")(m)) for m in (b, c)])
    net = tf.keras.Model(i, [box, score])

    def f(image):
        t, s = net(tf.cast(image, F) / 127.5 - 1)
        boxes = decode(tf.concat([grid(8, 0.2), grid(4, 0.5)], 0), t)
        d = tf.image.combined_non_max_suppression(boxes[:, :, None], tf.sigmoid(s), 10, 20, 0.5, 0.3)
        return {"detection_boxes": d.nmsed_boxes, "detection_scores": d.nmsed_scores, "detection_classes": d.nmsed_classes + 1, "num_detections": tf.cast(d.valid_detections, F)}

    return kept(Served(serving_default=(f, {"input_tensor": ((None, 32, 32, 3), tf.uint8)}, [[np.stack([picture(32, 32, 3)] * 2)]])), net)


def retinanet():
    i = L.Input((32, 32, 3))
    maps = [L.Conv2D(8, 1)(m) for m in backbone(i)]
    for k in (1, 0):
        maps[k] = L.Add()([maps[k], L.UpSampling2D(2)(maps[k + 1])])
    head = tf.keras.Sequential([L.Conv2D(8, 3, padding="same", activation="relu"), L.Conv2D(6, 3, padding="same")])
    net = tf.keras.Model(i, L.Concatenate(1)([L.Reshape((-1, 6))(head(m)) for m in maps]))

    def f(x):
        y = net(x)[0]
        boxes = decode(tf.concat([grid(16, 0.1), grid(8, 0.2), grid(4, 0.4)], 0), y[:, :4])
        found = []
        for c in range(2):
            s = tf.sigmoid(y[:, 4 + c])
            top, at = tf.math.top_k(s, 50)
            b = tf.gather(boxes, at)
            chosen = tf.image.non_max_suppression(b, top, 5, 0.4, 0.05)
            found.append(tf.concat([tf.gather(b, chosen), tf.gather(top, chosen)[:, None]], 1))
        return tf.concat(found, 0)

    return kept(one(f, {"x": ((1, 32, 32, 3), F)}, [f32(1, 32, 32, 3)]), net)


def yolo_v3():
    i = L.Input((64, 64, 3))
    x = i
    for w in (8, 16, 24, 24):
        x = L.LeakyReLU(0.1)(L.BatchNormalization()(L.Conv2D(w, 3, 2, padding="same", use_bias=False)(L.ZeroPadding2D(((1, 0), (1, 0)))(x))))
    net = tf.keras.Model(i, L.Conv2D(3 * 7, 1)(x))
    anchors = tf.constant([[10.0, 13], [16, 30], [33, 23]])

    def f(image):
        y = net(image)
        n = tf.shape(y)[1]
        y = tf.reshape(y, (-1, n, n, 3, 7))
        xy, wh, obj, cls = tf.split(y, (2, 2, 1, 2), -1)
        g = tf.cast(tf.expand_dims(tf.stack(tf.meshgrid(tf.range(n), tf.range(n)), -1), 2), F)
        xy, wh = (tf.sigmoid(xy) + g) / tf.cast(n, F), tf.exp(wh) * anchors / 64
        boxes = tf.reshape(tf.concat([xy - wh / 2, xy + wh / 2], -1), (tf.shape(y)[0], -1, 1, 4))
        scores = tf.reshape(tf.sigmoid(obj) * tf.sigmoid(cls), (tf.shape(y)[0], -1, 2))
        return tf.image.combined_non_max_suppression(boxes, scores, 10, 10, 0.5, 0.3).nmsed_boxes

    return kept(one(f, {"image": ((None, 64, 64, 3), F)}, [np.abs(f32(2, 64, 64, 3))]), net)


def yolo_v8():
    i = L.Input((32, 32, 3))
    x = i
    for w in (8, 16, 16):
        x = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(w, 3, 2, padding="same")(x)))
    a, b = tf.split(x, 2, -1)
    pools = [b]
    for _ in range(3):
        pools.append(L.MaxPooling2D(5, 1, padding="same")(pools[-1]))
    net = tf.keras.Model(i, L.Reshape((16, 4 * 8 + 3))(L.Conv2D(4 * 8 + 3, 1)(L.Concatenate()([a] + pools))))

    def f(x):
        y = net(x)
        sides = tf.einsum("bnsk,k->bns", tf.nn.softmax(tf.reshape(y[..., :32], (-1, 16, 4, 8))), tf.range(8, dtype=F))
        c = grid(4, 1.0)[:, :2] * 4
        boxes = tf.concat([c - sides[..., :2], c + sides[..., 2:]], -1)
        s = tf.sigmoid(y[..., 32:])
        best = tf.reduce_max(s, -1)
        at, n = tf.image.non_max_suppression_padded(boxes, best, 6, 0.5, 0.2, pad_to_max_output_size=True, canonicalized_coordinates=True)
        return {"boxes": tf.gather(boxes, at, batch_dims=1), "scores": tf.gather(best, at, batch_dims=1), "classes": tf.gather(tf.argmax(s, -1), at, batch_dims=1), "n": n}

    return kept(Served(serving_default=(f, {"x": ((2, 32, 32, 3), F)}, [[f32(2, 32, 32, 3)]])), net)


def faster_rcnn():
    i = L.Input((None, None, 3))
    m = backbone(i, (8, 8))[-1]
    net = tf.keras.Model(i, [m, L.Conv2D(5, 1)(m)])
    head = tf.keras.Sequential([L.Flatten(), L.Dense(16, activation="relu"), L.Dense(3 + 4)])
    head.build((None, 3 * 3 * 8))

    def f(x):
        m, rpn = net(x)
        rpn = tf.reshape(rpn, (-1, 5))
        boxes = tf.clip_by_value(decode(grid(8, 0.4), rpn[:, 1:]), 0.0, 1.0)
        boxes = tf.gather(boxes, tf.image.non_max_suppression(boxes, rpn[:, 0], 12, 0.7))
        y = head(tf.nn.max_pool2d(tf.image.crop_and_resize(m, boxes, tf.zeros(tf.shape(boxes)[:1], tf.int32), (6, 6)), 2, 2, "SAME"))
        keep = tf.where(tf.reduce_max(tf.nn.softmax(y[:, :3]), 1) > 0.3)[:, 0]
        return {"boxes": tf.gather(boxes, keep), "classes": tf.argmax(tf.gather(y[:, :3], keep), 1), "fine": tf.gather(y[:, 3:], keep)}

    return kept(Served(serving_default=(f, {"x": ((1, 32, 32, 3), F)}, [[f32(1, 32, 32, 3)]])), net, head)


def mask_head():
    net = tf.keras.Sequential([L.Conv2DTranspose(4, 2, 2, activation="relu"), L.Conv2D(2, 1, activation="sigmoid")])
    net.build((None, 7, 7, 4))

    def f(features, boxes, classes):
        m = net(tf.image.crop_and_resize(features, boxes, tf.zeros_like(classes), (7, 7)))
        return tf.cast(tf.gather(tf.transpose(m, (0, 3, 1, 2)), classes, batch_dims=1) > 0.5, tf.uint8)

    return kept(one(f, {"features": ((1, None, None, 4), F), "boxes": ((None, 4), F), "classes": ((None,), tf.int32)}, [f32(1, 9, 9, 4), np.sort(r.uniform(0, 1, (3, 4))).astype("float32"), np.array([0, 1, 0], "int32")]), net)


def centernet():
    i = L.Input((32, 32, 3))
    x = backbone(i, (8, 8))[-1]
    net = tf.keras.Model(i, [L.Conv2D(2, 1, activation="sigmoid")(x), L.Conv2D(2, 1)(x)])

    def f(x):
        heat, size = net(x)
        heat = tf.where(tf.nn.max_pool2d(heat, 3, 1, "SAME") == heat, heat, 0.0)
        score, at = tf.math.top_k(tf.reshape(heat, (tf.shape(x)[0], -1)), 7)
        y, x = at // 2 // 8, at // 2 % 8
        return {"score": score, "class": at % 2, "y": y, "x": x, "size": tf.gather_nd(size, tf.stack([y, x], -1), batch_dims=1)}

    return kept(Served(serving_default=(f, {"x": ((None, 32, 32, 3), F)}, [[f32(2, 32, 32, 3)]])), net)


def vit():
    x = i = L.Input((24, 24, 3))
    x = L.Reshape((9, 16))(L.Conv2D(16, 8, 8)(x))
    x = L.Concatenate(1)([tf.zeros_like(x[:, :1]), x]) + L.Embedding(10, 16)(tf.range(10))
    for _ in range(2):
        h = L.LayerNormalization(epsilon=1e-6)(x)
        x = x + L.MultiHeadAttention(2, 8)(h, h)
        x = x + L.Dense(16)(L.Dense(32, activation=tf.nn.gelu)(L.LayerNormalization(epsilon=1e-6)(x)))
    return keras(tf.keras.Model(i, L.Dense(4)(x[:, 0])), [f32(2, 24, 24, 3)])


def vit_patches():
    d = L.Dense(8)
    d.build((None, 48))

    def f(x):
        p = tf.image.extract_patches(x, (1, 4, 4, 1), (1, 4, 4, 1), (1, 1, 1, 1), "VALID")
        return d(tf.reshape(p, (tf.shape(x)[0], -1, 48)))

    return kept(one(f, {"x": ((None, 16, 16, 3), F)}, [f32(2, 16, 16, 3)]), d)


def swin():
    i = L.Input((16, 16, 8))
    shifted = tf.roll(i, (-2, -2), (1, 2))
    w = tf.reshape(tf.transpose(tf.reshape(shifted, (-1, 4, 4, 4, 4, 8)), (0, 1, 3, 2, 4, 5)), (-1, 16, 8))
    w = L.MultiHeadAttention(2, 4)(w, w)
    x = tf.reshape(tf.transpose(tf.reshape(w, (-1, 4, 4, 4, 4, 8)), (0, 1, 3, 2, 4, 5)), (-1, 16, 16, 8))
    x = i + tf.roll(x, (2, 2), (1, 2))
    merged = L.Concatenate()([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]])
    return keras(tf.keras.Model(i, L.Dense(16, use_bias=False)(L.LayerNormalization()(merged))), [f32(2, 16, 16, 8)])


def mlp_mixer():
    i = L.Input((16, 16, 3))
    x = L.Reshape((16, 12))(L.Conv2D(12, 4, 4)(i))
    x = x + L.Permute((2, 1))(L.Dense(16)(L.Dense(8, activation="gelu")(L.Permute((2, 1))(L.LayerNormalization()(x)))))
    x = x + L.Dense(12)(L.Dense(24, activation="gelu")(L.LayerNormalization()(x)))
    return keras(tf.keras.Model(i, L.Dense(3)(L.GlobalAveragePooling1D()(x))), [f32(2, 16, 16, 3)])


def shufflenet():
    i = L.Input((16, 16, 8))
    x = L.Conv2D(16, 1, groups=4)(i)
    x = tf.reshape(tf.transpose(tf.reshape(x, (-1, 16, 16, 4, 4)), (0, 1, 2, 4, 3)), (-1, 16, 16, 16))
    x = L.DepthwiseConv2D(3, 2, padding="same")(x)
    return keras(tf.keras.Model(i, L.Concatenate()([L.AveragePooling2D(3, 2, padding="same")(i), x])), [f32(2, 16, 16, 8)])


def squeeze_excite():
    i = L.Input((None, None, 8))
    s = L.GlobalAveragePooling2D(keepdims=True)(i)
    s = L.Conv2D(8, 1, activation="hard_sigmoid")(L.Conv2D(2, 1, activation="relu")(s))
    return keras(tf.keras.Model(i, L.GlobalMaxPooling2D(keepdims=True)(i * s)), [f32(2, 9, 7, 8)])


def super_resolution():
    i = L.Input((None, None, 3))
    x = L.Conv2D(12, 3, padding="same")(L.Conv2D(8, 5, padding="same", activation="tanh")(i))
    up = tf.image.resize(i, 2 * tf.shape(i)[1:3], "bicubic")
    return keras(tf.keras.Model(i, tf.clip_by_value(tf.nn.depth_to_space(x, 2) + up, 0, 1)), [np.abs(f32(2, 9, 7, 3))])


def dcgan_generator():
    i = L.Input((10,))
    x = L.Reshape((4, 4, 8))(L.LeakyReLU()(L.BatchNormalization()(L.Dense(128, use_bias=False)(i))))
    x = L.LeakyReLU()(L.BatchNormalization()(L.Conv2DTranspose(8, 5, 2, padding="same", use_bias=False)(x)))
    return keras(tf.keras.Model(i, L.Conv2DTranspose(1, 5, 2, padding="same", activation="tanh")(x)), [f32(2, 10)])


def vae():
    i = L.Input((16, 16, 1))
    e = L.Dense(8)(L.Flatten()(L.Conv2D(4, 3, 2, activation="relu")(i)))
    enc = tf.keras.Model(i, tf.split(e, 2, -1))
    z = L.Input((4,))
    dec = tf.keras.Model(z, L.Conv2DTranspose(1, 3, 2, padding="same", activation="sigmoid")(L.Reshape((8, 8, 2))(L.Dense(128, activation="relu")(z))))

    def rebuild(x, seed):
        mean, log = enc(x)
        return {"y": dec(mean + tf.exp(0.5 * log) * tf.random.stateless_normal(tf.shape(mean), seed))}

    return kept(Served(encode=(lambda x: {"mean": enc(x)[0], "log": enc(x)[1]}, {"x": ((None, 16, 16, 1), F)}, [[f32(2, 16, 16, 1)]]),
                       decode=(lambda z: {"y": dec(z)}, {"z": ((None, 4), F)}, [[f32(3, 4)]]),
                       rebuild=(rebuild, {"x": ((None, 16, 16, 1), F), "seed": ((2,), tf.int32)}, [[f32(2, 16, 16, 1), np.array([3, 4], "int32")]])), enc, dec)


def style_transfer():
    w, g, b = tf.Variable(f32(9, 9, 3, 8)), tf.Variable(f32(8)), tf.Variable(f32(8))

    def f(x):
        y = tf.nn.conv2d(tf.pad(x, [[0, 0], [4, 4], [4, 4], [0, 0]], "REFLECT"), w, 2, "VALID")
        mean, variance = tf.nn.moments(y, [1, 2], keepdims=True)
        y = tf.nn.relu((y - mean) / tf.sqrt(variance + 1e-5) * g + b)
        return tf.pad(tf.image.resize(y, tf.shape(x)[1:3], "nearest"), [[0, 0], [1, 1], [1, 1], [0, 0]], "SYMMETRIC")

    return kept(one(f, {"x": ((None, None, None, 3), F)}, [f32(1, 15, 12, 3)]), w, g, b)


def pose_heatmaps():
    i = L.Input((32, 24, 3))
    net = tf.keras.Model(i, L.Conv2DTranspose(5, 4, 2, padding="same")(backbone(i)[1]))

    def f(x):
        h = net(x)
        flat = tf.reshape(h, (-1, 16 * 12, 5))
        at = tf.transpose(tf.unravel_index(tf.cast(tf.reshape(tf.argmax(flat, 1), [-1]), tf.int32), (16, 12)))
        soft = tf.reduce_sum(tf.nn.softmax(flat, 1) * tf.range(16 * 12, dtype=F)[:, None], 1)
        return {"points": tf.reshape(at, (-1, 5, 2)), "confidence": tf.reduce_max(flat, 1), "soft": soft}

    return kept(Served(serving_default=(f, {"x": ((None, 32, 24, 3), F)}, [[f32(2, 32, 24, 3)]])), net)


def ocr_crnn():
    i = L.Input((16, None, 1))
    x = L.MaxPooling2D((2, 1))(L.Conv2D(8, 3, padding="same", activation="relu")(L.MaxPooling2D(2)(L.Conv2D(4, 3, padding="same", activation="relu")(i))))
    x = L.Permute((2, 1, 3))(x)
    x = tf.reshape(x, (tf.shape(x)[0], tf.shape(x)[1], 32))
    net = tf.keras.Model(i, L.Dense(6)(L.Bidirectional(L.LSTM(8, return_sequences=True))(x)))
    letters = tf.constant(["a", "b", "c", "d", "e"])

    def f(x):
        y = tf.transpose(net(x), (1, 0, 2))
        best, score = tf.nn.ctc_greedy_decoder(y, tf.fill([tf.shape(x)[0]], tf.shape(y)[0]))
        words = tf.ragged.map_flat_values(lambda v: tf.gather(letters, v), tf.RaggedTensor.from_sparse(best[0]))
        return {"text": tf.strings.reduce_join(words, 1), "score": score}

    return kept(Served(serving_default=(f, {"x": ((None, 16, None, 1), F)}, [[f32(2, 16, 30, 1)]])), net)


def face_match():
    i = L.Input((16, 16, 3))
    net = tf.keras.Model(i, L.Dense(8, use_bias=False)(L.Flatten()(L.PReLU()(L.Conv2D(6, 3, 2)(i)))))
    known, names = tf.Variable(tf.math.l2_normalize(f32(5, 8), 1)), tf.constant(["ann", "bob", "cy", "di", "ed"])

    def f(x):
        e = tf.math.l2_normalize(net(x), 1)
        d = tf.reduce_sum(tf.math.squared_difference(e[:, None], known[None]), -1)
        return {"name": tf.where(tf.reduce_min(d, 1) < 1.2, tf.gather(names, tf.argmin(d, 1)), "unknown"), "distance": tf.reduce_min(d, 1), "embedding": e}

    return kept(Served(serving_default=(f, {"x": ((None, 16, 16, 3), F)}, [[f32(3, 16, 16, 3)]])), net, known)


def image_layers():
    i = L.Input((None, None, 3), dtype="uint8")
    x = L.Rescaling(1 / 127.5, -1)(L.Resizing(20, 18, crop_to_aspect_ratio=True)(L.CenterCrop(22, 20)(i)))
    n = L.Normalization()
    n.adapt(f32(20, 20, 18, 3))
    x = L.RandomContrast(0.2)(L.RandomZoom(0.1)(L.RandomRotation(0.1)(L.RandomFlip()(n(x)))))
    return keras(tf.keras.Model(i, L.GlobalAveragePooling2D()(L.Conv2D(4, 3)(x))), [picture(30, 26, 3)[None]])


def spatial_transformer():
    loc = tf.keras.Sequential([L.Flatten(), L.Dense(8, bias_initializer=tf.constant_initializer([1, 0, 0, 0, 1, 0, 0, 0]), kernel_initializer=tf.random_normal_initializer(0, 0.01))])
    loc.build((None, 10 * 10 * 2))

    def f(x):
        t = loc(x)
        modes = [tf.raw_ops.ImageProjectiveTransformV3(images=x, transforms=t, output_shape=[8, 9], interpolation=i, fill_mode=m, fill_value=0.5)
                 for i in ("BILINEAR", "NEAREST") for m in ("CONSTANT", "REFLECT", "WRAP", "NEAREST")]
        return tf.stack(modes + [tf.raw_ops.ImageProjectiveTransformV2(images=x, transforms=t, output_shape=[8, 9], interpolation="BILINEAR")])

    return kept(one(f, {"x": ((None, 10, 10, 2), F)}, [f32(2, 10, 10, 2) * 0.2]), loc)


def segnet_unpooling():
    w = tf.Variable(f32(3, 3, 4, 4))

    def f(x):
        p, at = tf.nn.max_pool_with_argmax(x, 2, 2, "SAME", include_batch_in_index=True)
        flat = tf.scatter_nd(tf.reshape(at, (-1, 1)), tf.reshape(p, [-1]), [tf.size(x, tf.int64)])
        return tf.nn.conv2d(tf.reshape(flat, tf.shape(x)), w, 1, "SAME")

    return kept(one(f, {"x": ((None, 8, 8, 4), F)}, [f32(2, 8, 8, 4)]), w)


def morphology():
    k = tf.constant(f32(3, 3, 2) * 0.1)

    def f(x):
        d = tf.nn.dilation2d(x, k, (1, 1, 1, 1), "SAME", "NHWC", (1, 2, 2, 1))
        return tf.nn.erosion2d(d, k, (1, 2, 2, 1), "VALID", "NHWC", (1, 1, 1, 1))

    return one(f, {"x": ((None, None, None, 2), F)}, [f32(2, 11, 9, 2)])


def glimpses():
    def f(x, at):
        return tf.concat([tf.image.extract_glimpse(x, (4, 5), at, centered=True, normalized=True, noise="zero"), tf.image.extract_glimpse(x, (4, 5), at * 3, centered=False, normalized=False, noise="zero")], -1)

    return one(f, {"x": ((None, 8, 9, 2), F), "at": ((None, 2), F)}, [f32(2, 8, 9, 2), f32(2, 2) * 0.7])


def drawn_boxes():
    return one(lambda x, b: tf.image.draw_bounding_boxes(x, b, tf.constant([[1.0, 0, 0], [0, 1, 0]])), {"x": ((None, None, None, 3), F), "b": ((None, None, 4), F)},
               [f32(1, 12, 14, 3), np.array([[[0.1, 0.2, 0.6, 0.7], [-0.5, 0.5, 2, 0.9], [0.9, 0.1, 0.2, 0.2]]], "float32")])


def image_quality():
    def f(x, y):
        return {"ssim": tf.image.ssim(x, y, 1.0), "psnr": tf.image.psnr(x, y, 1.0), "tv": tf.image.total_variation(x), "edges": tf.image.sobel_edges(x)}

    a = np.abs(f32(2, 16, 16, 3)) % 1
    return Served(serving_default=(f, {"x": ((None, 16, 16, 3), F), "y": ((None, 16, 16, 3), F)}, [[a, (a * 0.9).astype("float32")]]))


def image_adjustments():
    def f(x):
        y = tf.image.per_image_standardization(tf.image.rgb_to_grayscale(x))
        z = tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(tf.image.adjust_gamma(x, 0.7, 1.1)))
        turned = tf.image.rot90(tf.image.flip_left_right(tf.image.transpose(tf.image.flip_up_down(x))))
        return {"gray": y, "colour": tf.image.adjust_brightness(z, 0.1), "turned": turned, "padded": tf.image.resize_with_pad(x, 9, 20), "cropped": tf.image.resize_with_crop_or_pad(x, 20, 5)}

    return Served(serving_default=(f, {"x": ((None, 10, 12, 3), F)}, [[np.abs(f32(2, 10, 12, 3))]]))


def histogram_equalize():
    def f(x):
        h = tf.histogram_fixed_width(tf.cast(x, tf.int32), [0, 255], 256)
        c = tf.cumsum(h)
        low = tf.reduce_min(tf.boolean_mask(c, c > 0))
        table = tf.clip_by_value((c - low) * 255 // (tf.size(x) - low), 0, 255)
        return tf.cast(tf.gather(table, tf.cast(x, tf.int32)), tf.uint8)

    return one(f, {"x": ((None, None), tf.uint8)}, [picture(9, 11, 1)[..., 0]])


def medical_3d_patches():
    def f(x):
        p = tf.extract_volume_patches(x, (1, 2, 2, 2, 1), (1, 2, 2, 2, 1), "VALID")
        y = tf.nn.conv3d(x, w, (1, 1, 1, 1, 1), "SAME")
        return tf.concat([tf.reduce_mean(p, (1, 2, 3)), tf.reduce_max(y, (1, 2, 3))], 1)

    w = tf.constant(f32(3, 3, 3, 2, 4))
    return one(f, {"x": ((None, 6, 6, 6, 2), F)}, [f32(2, 6, 6, 6, 2)])


def document_pages():
    def f(page):
        x = tf.io.decode_png(page, 1)
        dark = tf.cast(x < 128, F)
        rows = tf.reduce_sum(dark, (1, 2))
        lines = tf.where(rows > tf.reduce_mean(rows))[:, 0]
        tiles = tf.space_to_batch(dark[None, :12, :16], (2, 2), [[0, 0], [0, 0]])
        return {"lines": lines, "tiles": tf.reduce_mean(tiles, (1, 2, 3)), "small": tf.io.decode_png(tf.io.encode_png(tf.cast(tf.image.resize(x, (3, 4), "area"), tf.uint8)))}

    return Served(serving_default=(f, {"page": ((), S)}, [[np.array(tf.io.encode_png(picture(13, 17, 1)).numpy(), object)]]))
