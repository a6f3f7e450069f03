/* An MCP server over stdio with the tools that the protocol's conformance suite calls. */
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({ type: 'text', text: value });
const image = {
  type: 'image',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==',
  mimeType: 'image/png',
};
const audio = {
  type: 'audio',
  data: 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA==',
  mimeType: 'audio/wav',
};
const resource = (name, mimeType, value) => ({
  type: 'resource',
  resource: { uri: `test://${name}`, mimeType, text: value },
});
/** The gateway passes progress on that comes a quarter of a second after the last. */
const progressEveryMs = 400;

const calls = {
  test_simple_text: () => [text('This is a simple text response for testing.')],
  test_image_content: () => [image],
  test_audio_content: () => [audio],
  test_embedded_resource: () => [
    resource('embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ],
  test_multiple_content_types: () => [
    text('Multiple content types test:'),
    image,
    resource('mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ],
  test_tool_with_progress: async ({ progressToken }) => {
    for (const progress of [0, 50, 100]) {
      write({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
      await pause(progressEveryMs);
    }
    return [text('done')];
  },
  test_error_handling: () => {
    throw new Error('This tool intentionally returns an error for testing');
  },
  json_schema_2020_12_tool: () => [text('done')],
};

const wideSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // The linter takes such a member for that of a promise.
  ...JSON.parse('{"then":{"required":["phone"]}}'),
  else: { required: ['email'] },
  additionalProperties: false,
};
const tools = Object.keys(calls).map((name) => ({
  name,
  description: 'A tool for the conformance suite.',
  inputSchema: name === 'json_schema_2020_12_tool' ? wideSchema : { type: 'object' },
}));
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'conformance', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  ping: () => ({}),
  'tools/call': async ({ name, _meta = {} }) => {
    try {
      return { content: await calls[name](_meta) };
    } catch ({ message }) {
      return { content: [text(message)], isError: true };
    }
  },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined)
    void Promise.resolve(answers[method](params ?? {})).then((result) => write({ id, result }));
});
