"""The mlp of the tests in TensorFlow: variables dense/kernel, dense/bias, dense_1/..."""
import numpy as np
import tensorflow.compat.v1 as tf

UNITS = [32, 16, 10]


def logits(images):
    x = tf.cast(tf.reshape(images, [-1, 784]), tf.float32) * np.float32(1 / 255)
    for i, n in enumerate(UNITS):
        with tf.variable_scope("dense_%d" % i if i else "dense"):
            kernel = tf.get_variable("kernel", [x.shape[-1], n], initializer=tf.glorot_uniform_initializer(seed=i))
            bias = tf.get_variable("bias", [n], initializer=tf.zeros_initializer())
        x = tf.nn.bias_add(tf.matmul(x, kernel), bias)
        if i < len(UNITS) - 1:
            x = tf.nn.relu(x)
    return x
