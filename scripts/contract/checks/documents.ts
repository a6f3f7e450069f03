import { expectEqual, expectJson, expectStatus, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import type { Answer } from '../client.ts';
import { isRecord, type JsonRecord } from '../shapes.ts';
import type { Suite } from '../suite.ts';
import { parseData, readEvents } from './server-sent-events.ts';

const endpoints: [string, string][] = [
  ['get', '/v1/balance'],
  ['get', '/v1/usage'],
  ['get', '/v1/jobs'],
  ['get', '/v1/transactions'],
  ['get', '/v1/jobs/{job_id}'],
  ['get', '/v1/models'],
  ['get', '/v1/models/{model}'],
  ['post', '/v1/chat/completions'],
  ['post', '/v1/responses'],
  ['get', '/v1/responses/{response_id}'],
  ['post', '/v1/images/generations'],
  ['post', '/v1/videos'],
  ['get', '/v1/videos/{video_id}'],
  ['get', '/v1/videos/{video_id}/content'],
  ['get', '/v1/search'],
];

const askMcp = async (suite: Suite, body: JsonRecord, key: string | null): Promise<Answer> =>
  suite.call('/mcp', {
    key,
    body: { jsonrpc: '2.0', id: 1, ...body },
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
  });

const resultOf = (answer: Answer): JsonRecord => {
  expectStatus(answer, 200);
  const isStream = (answer.headers.get('content-type') ?? '').startsWith('text/event-stream');
  const message = isStream ? parseData(readEvents(answer).at(-1) ?? { event: null, data: '' }) : answer.json;
  const result = isRecord(message) ? message['result'] : undefined;
  expectThat(isRecord(result), `/mcp answered ${JSON.stringify(message)?.slice(0, 300)}`);
  return isRecord(result) ? result : {};
};

const toolsOf = async (
  suite: Suite,
  key: string | null,
): Promise<{ name: string; inputSchema: JsonRecord }[]> =>
  resultOf(await askMcp(suite, { method: 'tools/list', params: {} }, key))['tools'] as {
    name: string;
    inputSchema: JsonRecord;
  }[];

const searchParameters = [
  'category',
  'country',
  'gender',
  'limit',
  'max_followers',
  'min_followers',
  'query',
];

export const documentChecks: readonly Check[] = [
  {
    id: 'DOC-1',
    title: 'the API description is OpenAPI 3.1.0 in version 0.1.0.2',
    run: async (suite) => {
      const document = expectJson(await suite.call('/openapi.json', { key: null }), 200);
      expectEqual(document['openapi'], '3.1.0', 'openapi');
      expectEqual((document['info'] as JsonRecord)['version'], '0.1.0.2', 'info.version');
    },
  },
  {
    id: 'DOC-2',
    title: 'the description has every documented endpoint',
    run: async (suite) => {
      const document = expectJson(await suite.call('/openapi.json', { key: null }), 200);
      const paths = document['paths'] as Record<string, JsonRecord>;
      const { videos, search } = suite.serves;
      const missing = endpoints
        .filter(([, path]) => (videos || !path.startsWith('/v1/videos')) && (search || path !== '/v1/search'))
        .filter(([method, path]) => paths[path]?.[method] === undefined);
      expectEqual(missing, [], 'the endpoints that are missing');
    },
  },
  {
    id: 'MCP-1',
    title: '/mcp offers search_leads without a key, with the parameters of search',
    needs: ['mcp', 'search'],
    run: async (suite) => {
      const tools = await toolsOf(suite, null);
      expectEqual(
        tools.map(({ name }) => name),
        ['search_leads'],
        'the tools',
      );
      const properties = tools[0]?.inputSchema['properties'] as JsonRecord;
      const documented = searchParameters.filter((name) => name in properties);
      expectEqual(documented, searchParameters, 'the documented parameters of search_leads');
    },
  },
  {
    id: 'MCP-2',
    title: 'an unpaid search_leads is a tool error with the terms of the payment',
    needs: ['mcp', 'search'],
    run: async (suite) => {
      const params = { name: 'search_leads', arguments: { query: 'coffee' } };
      const result = resultOf(await askMcp(suite, { method: 'tools/call', params }, null));
      expectEqual(result['isError'], true, 'isError');
      const terms = result['structuredContent'];
      expectThat(
        isRecord(terms) && Array.isArray(terms['accepts']),
        `structuredContent is ${JSON.stringify(terms)?.slice(0, 200)}`,
      );
    },
  },
  {
    id: 'MCP-3',
    title: 'with a key /mcp has a tool for every documented endpoint; a wrong key is 401',
    needs: ['mcp', 'image', 'chat'],
    run: async (suite) => {
      const names = (await toolsOf(suite, suite.settings.apiKey)).map(({ name }) => name);
      const hasVideo = suite.models.some(({ kind }) => kind === 'video');
      const wanted = [
        ...(suite.serves.search ? ['search_leads'] : []),
        'list_models',
        'get_balance',
        'get_usage',
        'list_jobs',
        'list_transactions',
        'get_job',
        'create_image',
        'create_chat_completion',
        'create_response',
        'get_response',
        ...(hasVideo ? ['create_video', 'get_video', 'get_video_content'] : []),
      ];
      expectEqual(
        wanted.filter((name) => !names.includes(name)),
        [],
        'the tools that are missing',
      );
      expectStatus(await askMcp(suite, { method: 'tools/list', params: {} }, 'wrong'), 401);
    },
  },
];
