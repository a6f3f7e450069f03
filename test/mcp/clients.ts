import {
  Client as NextClient,
  StreamableHTTPClientTransport as NextHttp,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as NextStdio } from '@modelcontextprotocol/client/stdio';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as FirstStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as FirstHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';

const members = z.record(z.string(), z.unknown());
const toolResult = z.object({
  content: z.array(
    z.object({
      type: z.string(),
      text: z.string().optional(),
      uri: z.string().optional(),
      name: z.string().optional(),
      mimeType: z.string().optional(),
    }),
  ),
  structuredContent: members.optional(),
  isError: z.boolean().default(false),
  _meta: members.default({}),
});

export type ToolResult = z.infer<typeof toolResult>;

const contents = z.array(
  z.object({
    uri: z.string(),
    mimeType: z.string().optional(),
    text: z.string().optional(),
    blob: z.string().optional(),
  }),
);

export type ResourceContents = z.infer<typeof contents>;

export type Meta = { [name: string]: unknown };

export interface CallOptions {
  meta?: Meta;
  onprogress?: (progress: { progress: number; message?: string }) => void;
  signal?: AbortSignal;
}

/** What the tests do with a client, whichever it is. */
export interface TestClient {
  listTools(meta?: Meta): Promise<{ name: string; outputSchema?: object }[]>;
  listResources(): Promise<{ uri: string; name: string; title?: string; mimeType?: string }[]>;
  listResourceTemplates(): Promise<{ uriTemplate: string; name: string }[]>;
  readResource(uri: string, meta?: Meta): Promise<ResourceContents>;
  callTool(name: string, input?: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>;
  instructions(): string | undefined;
  close(): Promise<void>;
}

export interface ChildProcess {
  command: string;
  args: string[];
  env: Record<string, string>;
  stderr: 'ignore';
}

export interface ClientKind {
  name: string;
  connect: (url: string, apiKey: string | null) => Promise<TestClient>;
  spawn: (child: ChildProcess) => Promise<TestClient>;
}

const identity = { name: 'causeway-test', version: '1.0.0' };

const requestInit = (apiKey: string | null) => ({
  headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
});

const withMeta = <Params extends object>(params: Params, meta: Meta | undefined) => ({
  ...params,
  ...(meta === undefined ? {} : { _meta: meta }),
});

const drive = (client: FirstClient | NextClient): TestClient => ({
  listTools: async (meta) => (await client.listTools(withMeta({}, meta))).tools,
  listResources: async () => (await client.listResources()).resources,
  listResourceTemplates: async () => (await client.listResourceTemplates()).resourceTemplates,
  readResource: async (uri, meta) =>
    contents.parse((await client.readResource(withMeta({ uri }, meta))).contents),
  callTool: async (name, input = {}, { meta, onprogress, signal } = {}) => {
    const params = withMeta({ name, arguments: input }, meta);
    const options = {
      ...(onprogress === undefined ? {} : { onprogress }),
      ...(signal === undefined ? {} : { signal }),
    };
    const result =
      client instanceof FirstClient
        ? await client.callTool(params, undefined, options)
        : await client.callTool(params, options);
    return toolResult.parse(result);
  },
  instructions: () => client.getInstructions(),
  close: () => client.close(),
});

const first: ClientKind = {
  name: 'the v1 client',
  connect: async (url, apiKey) => {
    const client = new FirstClient(identity);
    await client.connect(new FirstHttp(new URL(url), { requestInit: requestInit(apiKey) }));
    return drive(client);
  },
  spawn: async (child) => {
    const client = new FirstClient(identity);
    await client.connect(new FirstStdio(child));
    return drive(client);
  },
};

const next = (name: string, mode: 'legacy' | 'auto' | { pin: string }): ClientKind => {
  const create = (): NextClient => new NextClient(identity, { versionNegotiation: { mode } });
  return {
    name,
    connect: async (url, apiKey) => {
      const client = create();
      await client.connect(new NextHttp(new URL(url), { requestInit: requestInit(apiKey) }));
      return drive(client);
    },
    spawn: async (child) => {
      const client = create();
      await client.connect(new NextStdio(child));
      return drive(client);
    },
  };
};

/** Every way in which the two client libraries speak to a server. */
export const clientKinds: readonly ClientKind[] = [
  first,
  next('the v2 client on the 2025 revisions', 'legacy'),
  next('the v2 client that negotiates', 'auto'),
  next('the v2 client pinned to 2026-07-28', { pin: '2026-07-28' }),
];
