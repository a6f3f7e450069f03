import type { TestGateway } from '../e2e/start-test-gateway.ts';

interface ModernCall {
  path: string;
  apiKey: string;
  name: string;
  input: object;
  capabilities?: object;
  /** More members of the parameters. */
  more?: object;
}

export interface ModernAnswer {
  result?: Record<string, unknown> & { _meta?: Record<string, unknown>; requestState?: string };
  error?: { code: number };
}

/** Calls a tool by revision 2026-07-28, without a client that would act on its answer. */
export const callModern = async (
  { call }: Pick<TestGateway, 'call'>,
  { path, apiKey, name, input, capabilities = { elicitation: { url: {} } }, more = {} }: ModernCall,
): Promise<ModernAnswer> => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'assistant', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const params = { name, arguments: input, _meta: meta, ...more };
  const response = await call(path, {
    apiKey,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
  });
  return (await response.json()) as ModernAnswer;
};
