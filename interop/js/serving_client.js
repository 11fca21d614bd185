// Calls a model server through @grpc/grpc-js, an HTTP/2 and protobuf stack of its own:
// node serving_client.js ADDRESS DIRECTORY, where the directory holds the .proto files.
const assert = require('node:assert');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [address, protos] = process.argv.slice(2);
const files = ['prediction_service', 'model_service'].map((name) => `tensorflow/serving/apis/${name}.proto`);
const { tensorflow } = grpc.loadPackageDefinition(loader.loadSync(files, { includeDirs: [protos], keepCase: true, longs: Number, enums: String }));
const credentials = grpc.credentials.createInsecure();
const predictions = new tensorflow.serving.PredictionService(address, credentials);
const models = new tensorflow.serving.ModelService(address, credentials);

const call = (client, method, request) => new Promise((resolve, reject) => {
  client[method](request, { deadline: Date.now() + 60000 }, (err, response) => (err ? reject(err) : resolve(response)));
});
const floats = (values) => ({ dtype: 'DT_FLOAT', tensor_shape: { dim: [{ size: values.length }] }, float_val: values });

(async () => {
  const p = await call(predictions, 'Predict', { model_spec: { name: 'm', version: { value: 1 } }, inputs: { x: floats([1, 2, 5]) } });
  assert.deepStrictEqual(p.outputs.y.float_val, [2.5, 3, 4.5]);
  assert.strictEqual(p.model_spec.version.value, 1);
  const input = { example_list: { examples: [{ features: { feature: { a: { int64_list: { value: [7] } } } } }, {}] } };
  const c = await call(predictions, 'Classify', { model_spec: { name: 'm', signature_name: 'classify' }, input });
  assert.strictEqual(c.result.classifications[0].classes[0].label, 'long');
  assert.strictEqual(c.result.classifications[0].classes[1].score, 0.5);
  const r = await call(predictions, 'Regress', { model_spec: { name: 'm', signature_name: 'regress' }, input });
  assert.strictEqual(r.result.regressions.length, 2);
  const s = await call(models, 'GetModelStatus', { model_spec: { name: 'm' } });
  assert.deepStrictEqual(s.model_version_status.map((v) => [v.version, v.state]), [[2, 'AVAILABLE'], [1, 'AVAILABLE']]);
  await assert.rejects(call(predictions, 'Predict', { model_spec: { name: 'nobody' } }),
    { code: grpc.status.NOT_FOUND, details: 'Servable not found for request: Latest(nobody)' });
  console.log('all calls answered');
  predictions.close();
  models.close();
})().catch((err) => { console.error(err); process.exit(1); });
