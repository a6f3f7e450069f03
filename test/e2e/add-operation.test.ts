import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import type { ReadOperation } from '../../src/operations/definition.ts';
import type { OperationDocs } from '../../src/operations/operation-docs.ts';
import { leaveNote } from '../operations/leave-note.ts';
import { operations } from '../operations/test-operations.ts';
import { createAnswerCheck, createCompiler, type Description } from './interface-description.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

/** The members that a value of the type may lack. */
type OptionalKeys<Type> = {
  [Key in keyof Type]-?: object extends Pick<Type, Key> ? Key : never;
}[keyof Type];

const path = '/v1/boards/{board}/notes';
const note = { board: 'hall', note: { text: 'Back at five', length: 12 } };

let gateway: TestGateway;
let agent: Client;
let document: Description;

beforeAll(async () => {
  gateway = await startTestGateway({
    // The one line.
    operations: [...operations, leaveNote],
  });
  document = (await (await gateway.call('/openapi.json')).json()) as Description;
  agent = new Client({ name: 'test-agent', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${gateway.apiKey}` } };
  await agent.connect(
    new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp/generation`), { requestInit }),
  );
});

afterAll(async () => {
  await agent.close();
  await gateway.stop();
});

describe('an operation that is added by one file and one line', () => {
  it('does not compile while a part of it is missing', () => {
    expectTypeOf<OptionalKeys<ReadOperation>>().toEqualTypeOf<
      'sells' | 'otherNames' | 'resource' | 'price' | 'toolInput'
    >();
    expectTypeOf<OptionalKeys<OperationDocs>>().toEqualTypeOf<'errors' | 'event' | 'stream'>();
  });

  it('is a tool in tools/list', async () => {
    const { tools } = await agent.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      ...operations
        .filter(({ tool, group }) => tool !== null && group === 'generation')
        .map(({ name }) => name),
      'leave_note',
    ]);
    expect(tools.at(-1)).toMatchObject({
      title: 'Leave a note',
      description: leaveNote.description,
      inputSchema: {
        required: ['board', 'text'],
        properties: { text: { type: 'string', maxLength: 200, description: 'The note.' } },
      },
      outputSchema: {
        properties: {
          note: { type: 'object', properties: { text: { type: 'string' }, length: { type: 'integer' } } },
        },
      },
      annotations: { readOnlyHint: false },
    });
  });

  it('answers tools/call', async () => {
    const call = { name: 'leave_note', arguments: { board: 'hall', text: 'Back at five' } };
    expect((await agent.callTool(call)).structuredContent).toEqual(note);
    expect(await agent.callTool({ ...call, arguments: { board: 'hall' } })).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'invalid_parameter', param: 'text' } },
    });
  });

  it('answers over REST as the interface description says', async () => {
    const check = createAnswerCheck(gateway, document);
    const address = '/v1/boards/hall/notes';
    const { text } = await check(path, { path: address, body: { text: 'Back at five' }, status: 200 });
    expect(JSON.parse(text)).toEqual(note);
    await check(path, { path: address, body: { text: 'x' }, apiKey: null, status: 401 });
    const refused = await check(path, { path: address, body: {}, status: 422 });
    expect(JSON.parse(refused.text)).toEqual(
      document.paths[path]?.['post']?.responses['422']?.content?.['application/json']?.examples?.[
        'invalid_parameter'
      ]?.value,
    );
  });

  it('is in /openapi.json with its fields, answer, examples, headers and errors', () => {
    const item = document.paths[path]?.['post'];
    expect(item).toMatchObject({
      operationId: 'leave_note',
      description: 'Leaves a note on a board. Boards are listed by `GET /v1/models`. Free.',
      parameters: [{ name: 'board', in: 'path', description: 'The name of a board.', example: 'kitchen' }],
    });
    expect(document.components.schemas['LeaveNoteRequest']).toMatchObject({
      required: ['text'],
      properties: { text: { maxLength: 200 } },
    });
    expect(Object.keys(document.components.schemas['LeaveNoteRequest']?.properties ?? {})).toEqual(['text']);
    const answer = item?.responses['200'];
    expect(Object.keys(answer?.headers ?? {})).toContain('X-Note-Length');
    expect(document.components.headers).toHaveProperty('XNoteLength');
    const content = answer?.content?.['application/json'];
    expect(content?.schema).toEqual({ $ref: '#/components/schemas/Note' });
    const example = content?.examples?.['a_short_note']?.value;
    expect(createCompiler(document)(content?.schema ?? {})(example)).toBe(true);
    expect(item?.responses['404']?.content?.['application/json']?.examples).toEqual({
      not_found: {
        value: {
          error: {
            type: 'invalid_request_error',
            code: 'not_found',
            message: 'board: there is no such board.',
          },
        },
      },
    });
  });

  it('is on the page at /docs, with a curl command', async () => {
    const page = await (await gateway.call('/docs')).text();
    const [, shown = ''] = page.split('id="leave_note"');
    expect(shown).toContain('Leaves a note on a board.');
    expect(shown).toContain(`curl -X POST &quot;${gateway.url}/v1/boards/kitchen/notes&quot;`);
    expect(shown).toContain('Buy coffee');
    expect(page).toContain('id="schema-Note"');
  });
});
