import type { IncomingMessage, ServerResponse } from 'node:http';
import { scopes, type Caller } from '../accounts/authenticate.ts';
import { resourceScopes } from '../accounts/connection-resources.ts';
import { isJsonObject, type JsonObject, parseJson } from '../kit/json.ts';
import { mayNot } from './call-tool.ts';
import type { ToolGroup } from './tool-list.ts';

/** Why a token does not open what was asked for (RFC 6750). */
interface TokenRefusal {
  status: 401 | 403;
  /** Null: there was no token. */
  error: 'invalid_token' | 'insufficient_scope' | null;
  /** The scopes to ask for. */
  scope: readonly string[];
  text: string;
}

/** The address that was asked for, by its path, and the answer. */
interface Target {
  resource: string;
  response: ServerResponse;
}

/** Reads the messages of a body, which are several only in old revisions. None of a body that is no JSON. */
const readMessages = (body: Buffer | null): JsonObject[] =>
  [body && parseJson(body)].flat().filter(isJsonObject);

/** A connection that may not do everything. */
export const isRestricted = (caller: Caller | null): caller is Caller & { scopes: readonly string[] } =>
  scopes.some((scope) => caller?.scopes?.includes(scope) === false);

/** Refuses what a token does not open, before the library reads it. */
export const createTokenGuard = ({
  scopeFor,
  metadataUrl,
  hasTools,
}: {
  scopeFor(group: ToolGroup, message: JsonObject): string | null;
  metadataUrl(resource: string): string;
  hasTools: boolean;
}) => {
  /** Tells where a person signs in (RFC 9728). Some hosts read the status and the header, others the answer to a tool call. */
  const write = (
    { resource, response }: Target,
    { method, id }: JsonObject,
    { status, error, scope, text }: TokenRefusal,
  ): void => {
    const reason = error === null ? '' : `, error="${error}"`;
    const challenge = `Bearer resource_metadata="${metadataUrl(resource)}"${reason}, scope="${scope.join(' ')}"`;
    const _meta = { 'mcp/www_authenticate': [challenge] };
    const answer =
      method === 'tools/call'
        ? { result: { content: [{ type: 'text', text }], isError: true, _meta } }
        : { error: { code: -32_000, message: text } };
    const known = typeof id === 'string' || typeof id === 'number' ? id : null;
    response.writeHead(status, { 'www-authenticate': challenge, 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: known, ...answer }));
  };
  return {
    /** Answers a request whose bearer is no token of a connection, or that has none. */
    refuse: ({ headers }: IncomingMessage, target: Target, body: Buffer | null): void => {
      const error = headers.authorization === undefined ? null : 'invalid_token';
      const text =
        'Connect this assistant to an account: its person signs in at the address of the metadata.';
      const scope = resourceScopes(target.resource, hasTools) ?? scopes;
      write(target, readMessages(body)[0] ?? {}, { status: 401, error, scope, text });
    },
    /**
     * Returns whether a connection may send a body. When false, it has been answered. Another sign-in replaces the
     * connection, so the scopes that it has are asked for, too.
     */
    allow: (
      body: Buffer,
      { group, allowed }: { group: ToolGroup; allowed: readonly string[] },
      target: Target,
    ): boolean => {
      for (const message of readMessages(body)) {
        const missing = scopeFor(group, message);
        if (missing === null || allowed.includes(missing)) continue;
        const scope = [...allowed, missing];
        write(target, message, { status: 403, error: 'insufficient_scope', scope, text: mayNot(missing) });
        return false;
      }
      return true;
    },
  };
};
