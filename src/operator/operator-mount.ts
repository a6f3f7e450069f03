import type { IncomingMessage, ServerResponse } from 'node:http';
import { bearerKey, findOperator } from '../accounts/authenticate.ts';
import type { Config } from '../config/config.ts';
import { AppError, methodNotAllowed, wrongField } from '../kit/errors.ts';
import { type RequestNote, watchClient } from '../kit/log-request.ts';
import type { Log } from '../kit/log.ts';
import { isJsonObject } from '../kit/json.ts';
import { memoizeAsync } from '../kit/memoize.ts';
import { writeError, writeJson } from '../kit/write-answer.ts';
import { addressBucket, type AddressLimiter } from '../limits/address-limiter.ts';
import { sha256 } from '../kit/ids.ts';
import { createForgetUpstream } from '../leads/upstream/forget-upstream.ts';
import { hasBody, readJsonBody } from '../rest/read-json-body.ts';
import { createRouteTable, refuseMethod, routeFor, type FoundRoute } from '../rest/route-table.ts';
import type { OperatorKey } from '../store/store.ts';
import { createRefusalLimit, strangerPrefix, refuse, runVerb } from './run-verb.ts';
import { wrongTypeText, type GatewayParts, type OperatorServices } from './verb.ts';
import { verbs } from './verbs.ts';

export interface OperatorMountServices extends Pick<OperatorServices, 'store' | 'clock'> {
  config: Config;
  providers: GatewayParts['providers'];
  shelf: GatewayParts['shelf'];
  reload: GatewayParts['reload'];
  log: Log;
  publicUrl(): string;
  /** Counts failed attempts to authenticate. */
  failedOperatorCalls: AddressLimiter;
  buyer: GatewayParts['buyer'];
  leadTasks: GatewayParts['leads']['desk'];
}

interface RequestFacts {
  requestId: string;
  url: URL;
  clientAddress: string;
  note: RequestNote;
  /** SHA-256 of the key of a session of the console. Absent: the `Authorization` header has the key. */
  keyHash?: string;
}

const documentPath = '/admin/v1/openapi.json';

/** Terms of an account are the largest input, with 64 KB. */
const maxBytes = 1024 ** 2;

/** Serves /admin/v1. The key is checked before the path, so that a stranger does not learn which addresses there are. */
export const createOperatorMount = (services: OperatorMountServices) => {
  const { config, store, clock, log, providers, buyer, shelf, reload, leadTasks } = services;
  const find = createRouteTable(verbs);
  const refusals = createRefusalLimit();
  const operatorServices = {
    store,
    clock,
    brand: config.brand,
    config: () => Promise.resolve(config),
    refusals,
  };
  const forgetUpstream = createForgetUpstream(async () =>
    config.leads.sources.find((source) => source.kind === 'http'),
  );
  const leads = { desk: leadTasks, place: config, forgetUpstream };
  const document = memoizeAsync(async () => {
    const { createOperatorOpenApi } = await import('./operator-openapi.ts');
    return createOperatorOpenApi({ brand: config.brand, publicUrl: services.publicUrl() });
  });

  /** Throws a refusal of a caller without a valid key, after a row of the audit log. */
  const refuseStranger = (
    error: unknown,
    operation: string,
    { clientAddress, requestId }: Pick<RequestFacts, 'clientAddress' | 'requestId'>,
  ): Promise<never> => {
    const actor = `${strangerPrefix}${addressBucket(clientAddress)}`;
    return refuse(error, operation, { actor, actorLabel: null, role: 'read', requestId }, operatorServices);
  };

  const answer = async (
    request: IncomingMessage,
    facts: RequestFacts,
    signal: AbortSignal,
  ): Promise<object> => {
    const { url, clientAddress, requestId, note, keyHash = hashOf(request.headers.authorization) } = facts;
    const key = await authenticate(keyHash, clientAddress, services).catch((error: unknown) =>
      refuseStranger(error, 'authenticate', facts),
    );
    note.operatorKey = key.id;
    if (url.pathname === documentPath) {
      if (request.method === 'GET' || request.method === 'HEAD') return document();
      throw methodNotAllowed('GET, HEAD');
    }
    const onPath = find(url.pathname);
    if (onPath.length === 0)
      throw new AppError('not_found', `There is nothing at this address. See ${documentPath}.`);
    const route = routeFor(request.method, onPath);
    if (route === null) throw refuseMethod(onPath);
    const call = { actor: `key:${key.id}`, actorLabel: key.label, role: key.role, requestId };
    const gateway = { providers, shelf, reload, buyer, leads, body: request, signal };
    return runVerb(route.operation, () => readInput(route, request, url), call, {
      ...operatorServices,
      gateway,
    });
  };

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    facts: RequestFacts,
  ): Promise<void> => {
    try {
      const body = await answer(request, facts, watchClient(response).signal);
      if (!response.destroyed)
        writeJson(response, { status: 200, headers: { 'cache-control': 'no-store' }, body });
    } catch (error) {
      writeError(response, error, { log, requestId: facts.requestId, what: 'a call of an operator' });
    }
  };
  return { serve, refuseStranger };
};

/** Reads the input. Each field has one place, so that no value silently replaces another. */
const readInput = async (
  { operation, fields, readParameters }: FoundRoute<(typeof verbs)[number]>,
  request: IncomingMessage,
  { searchParams }: URL,
): Promise<unknown> => {
  const { method, accepts } = operation.rest;
  const hasJsonBody = method === 'POST' && accepts === undefined;
  for (const name of searchParams.keys())
    if (Object.hasOwn(fields, name)) throw misplaced(name, 'is in the path; leave it out of the query');
  if (accepts !== undefined) checkType(request, accepts);
  const parameters = readParameters(searchParams, fields);
  if (!hasJsonBody || !hasBody(request)) return parameters;
  const { value } = await readJsonBody(request, { maxBytes, reserve: () => Promise.resolve() });
  if (!isJsonObject(value)) return value;
  for (const name of Object.keys(fields))
    if (Object.hasOwn(value, name)) throw misplaced(name, 'is in the path; leave it out of the body');
  return { ...value, ...parameters };
};

/** A body without a type is taken: its first bytes tell its form. */
const checkType = ({ headers }: IncomingMessage, accepts: readonly string[]): void => {
  const type = headers['content-type']?.replace(/;.*/s, '').trim().toLowerCase();
  if (type !== undefined && !accepts.includes(type))
    throw new AppError('unsupported_media_type', wrongTypeText(accepts));
};

const misplaced = (name: string, problem: string): AppError =>
  wrongField('invalid_parameter', name, `${name}: ${problem}`);

const hashOf = (authorization: string | undefined): string | null => {
  const key = bearerKey(authorization);
  return key === null ? null : sha256(key);
};

/** Looks the key up on every call, so a revoked one stops at once. Throws `rate_limit_exceeded` after many failures. */
const authenticate = async (
  keyHash: string | null,
  clientAddress: string,
  { store, clock, failedOperatorCalls }: OperatorMountServices,
): Promise<OperatorKey> => {
  const found = keyHash === null ? null : await findOperator({ store, clock }, keyHash);
  if (found !== null) return found;
  await failedOperatorCalls.consume(clientAddress);
  throw new AppError(
    'invalid_api_key',
    'The operator key is missing, unknown, expired or revoked. Send "Authorization: Bearer <OPERATOR_KEY>"; ' +
      'API keys of customers do not work here.',
    { headers: { 'www-authenticate': 'Bearer' } },
  );
};
