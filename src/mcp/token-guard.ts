import type { IncomingMessage, ServerResponse } from 'node:http';
import { scopes, type Caller } from '../accounts/authenticate.ts';
import { connectionResources } from '../accounts/connection-resources.ts';
import { AppError } from '../kit/errors.ts';
import { isJsonObject, type JsonObject } from '../kit/json.ts';
import { mayNot } from './call-tool.ts';
import type { ToolGroup } from './tool-list.ts';

/** Why a token does not open what was asked for (RFC 6750). */
interface TokenRefusal {
  status: 401 | 403;
  /** Null: there was no token. */
  error: 'invalid_token' | 'insufficient_scope' | null;
  /** The scopes to ask for. */
  scopes: readonly string[];
  text: string;
}

/**
 * Tells an assistant where its person signs in (RFC 9728). Some hosts read the status and the header, and others the body
 * of a tool's answer. `message`: the refused one, as far as it is known.
 */
const writeChallenge = (
  response: ServerResponse,
  { status, error, scopes, text }: TokenRefusal,
  { metadataUrl, message }: { metadataUrl: string; message: JsonObject | undefined },
): void => {
  const named = error === null ? '' : `, error="${error}"`;
  const challenge = `Bearer resource_metadata="${metadataUrl}"${named}, scope="${scopes.join(' ')}"`;
  const answer =
    message?.['method'] === 'tools/call'
      ? {
          result: {
            content: [{ type: 'text', text }],
            isError: true,
            _meta: { 'mcp/www_authenticate': [challenge] },
          },
        }
      : { error: { code: -32_000, message: text } };
  const id = message?.['id'];
  const isId = typeof id === 'string' || typeof id === 'number';
  response.writeHead(status, { 'www-authenticate': challenge, 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: isId ? id : null, ...answer }));
};

/** Reads the messages of a body, which are several only in old revisions. None of a body that is no JSON. */
const readMessages = (body: Buffer | null): JsonObject[] => {
  try {
    const parsed: unknown = JSON.parse(body?.toString() ?? '');
    return [parsed].flat().filter(isJsonObject);
  } catch {
    return [];
  }
};

/** A connection that may not do everything. */
export const isRestricted = (caller: Caller | null): caller is Caller & { scopes: readonly string[] } =>
  scopes.some((scope) => caller?.scopes?.includes(scope) === false);

/** Refuses what a token does not open, before the library reads it. */
export const createTokenGuard = ({
  scopeFor,
  metadataUrl,
}: {
  scopeFor(group: ToolGroup, message: JsonObject): string | null;
  metadataUrl(resource: string): string;
}) => ({
  /** Answers a request whose bearer is no token of a connection, or that has none. */
  refuse: (
    { headers }: IncomingMessage,
    response: ServerResponse,
    { resource, body }: { resource: string; body: Buffer | null },
  ): void => {
    const refusal: TokenRefusal = {
      status: 401,
      error: headers.authorization === undefined ? null : 'invalid_token',
      scopes: connectionResources.get(resource) ?? scopes,
      text: 'Connect this assistant to an account: its person signs in at the address of the metadata.',
    };
    writeChallenge(response, refusal, { metadataUrl: metadataUrl(resource), message: readMessages(body)[0] });
  },
  /**
   * Returns whether a connection may send a body. When false, it has been answered. Another sign-in replaces the connection,
   * so the scopes that it has are asked for, too. Throws AppError `payload_too_large` without a body.
   */
  allow: (
    body: Buffer | null,
    { group, resource, allowed }: { group: ToolGroup; resource: string; allowed: readonly string[] },
    response: ServerResponse,
  ): boolean => {
    if (body === null) throw new AppError('payload_too_large', 'The message is too large. Send less.');
    for (const message of readMessages(body)) {
      const scope = scopeFor(group, message);
      if (scope === null || allowed.includes(scope)) continue;
      const refusal = { scopes: [...allowed, scope], text: mayNot(scope) };
      writeChallenge(
        response,
        { status: 403, error: 'insufficient_scope', ...refusal },
        { metadataUrl: metadataUrl(resource), message },
      );
      return false;
    }
    return true;
  },
});

/** Reads a whole body; null if it is larger. Rejects when its sender has gone. */
export const readBody = async (request: IncomingMessage, maxBytes: number): Promise<Buffer | null> => {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return null;
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The connection is needed for the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};
