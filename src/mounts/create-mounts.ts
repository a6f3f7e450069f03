import { join } from 'node:path';
import type { OutboundSend } from '../http/create-outbound.ts';
import type { PayForCalls, PayingCaller } from '../http/pay-settings.ts';
import type { Clock } from '../kit/clock.ts';
import type { JsonObject } from '../kit/json.ts';
import { createFairShareLimiter, type Release } from '../kit/fair-share-limiter.ts';
import type { Log } from '../kit/log.ts';
import type { Store } from '../store/store.ts';
import type { ListedTool, ToolDefinition } from './check-tool.ts';
import { publicName } from './public-name.ts';
import { createAccountMounts, type AccountMounts } from './create-account-mounts.ts';
import {
  createMount,
  maxCalls,
  usualTimes,
  type MountOutcome,
  type MountParts,
  type MountTimes,
} from './create-mount.ts';
import { freeOfCharge, type MountConfig, type ToolPrice } from './mount-settings.ts';
import type { CallContext } from './mounted-server.ts';
import { createProcessGroups } from './process-groups.ts';
import { createSignIns, type SignIns } from './create-sign-ins.ts';
import { createSecretVault, type Owner } from './secret-vault.ts';
import { showTool } from './show-tool.ts';

/** A tool of a mounted server that an operator has accepted as it is now. */
export interface OfferedTool extends ToolPrice {
  server: string;
  /** The name that the server knows. */
  tool: string;
  /** The name that callers know, which has that of the server. The operator may have renamed the tool. */
  name: string;
  /** As callers see it. */
  definition: ToolDefinition;
  /** Of the definition of the server, which an operator accepted. */
  pin: string;
  /** How long it may run for a wallet before it is paid, in milliseconds; null: it is paid first. */
  unpaidMs: number | null;
  /** The most calls of its server that one account makes in a minute. */
  callsPerMinute: number;
  /** The most characters of its arguments, as JSON. */
  maxInput: number;
}

export interface Mounts {
  /** The names of the mounted servers. */
  readonly servers: readonly string[];
  /** Those whose tools are also offered to connections. */
  readonly accountServers: readonly string[];
  /**
   * Returns the tools that can be called now, in the order of their names. It returns the same list until something
   * changes. Rejects if the store fails.
   */
  offered(): Promise<readonly OfferedTool[]>;
  /** Returns them as they were when `offered` was called last. */
  known(): readonly OfferedTool[];
  /** Returns when an account can call the server of a tool again, in milliseconds; null: now. */
  restMs(owner: Owner): number | null;
  /** Takes one of the calls that an account, or all strangers, may have at a server at once. Null: they have as many. */
  takeTurn(
    tool: Pick<OfferedTool, 'server' | 'price'>,
    caller: { accountId: string; isStranger?: boolean },
  ): Release | null;
  /** What accounts set for servers. */
  secrets: Pick<AccountMounts, 'namesOf' | 'lacks' | 'takes' | 'set'>;
  /** How accounts sign in to servers. */
  signIns: Pick<SignIns, 'pageOf' | 'begin' | 'finish' | 'end'>;
  /** Calls a tool once, for an account. Never rejects. */
  call(
    tool: Pick<OfferedTool, 'server' | 'tool' | 'pin'> & { accountId: string },
    input: JsonObject,
    context: CallContext,
  ): Promise<MountOutcome>;
  /** Returns the states of the servers, those of accounts not among them. It starts none. */
  states(): { server: string; state: ReturnType<ReturnType<typeof createMount>['state']> }[];
  /** Starts the servers. */
  begin(): void;
  /** Ends the servers and their processes. */
  close(): Promise<void>;
}

export interface MountsOptions {
  config: {
    mounts: readonly MountConfig[];
    brand: string;
    dataDir: string;
    /** They encrypt what accounts set: the first one now, the others earlier. */
    toolSecretKeys: readonly string[];
    maxToolProcesses: number;
  };
  /** Of this gateway, for the servers. */
  version: string;
  store: Pick<Store, 'noteMountedTools' | 'listAcceptedPins'> & Parameters<typeof createSecretVault>[0];
  publicUrl: () => string;
  outbound: OutboundSend;
  clock: Clock;
  log: Log;
  telemetry?: MountParts['telemetry'];
  /** Absent: no server is paid. */
  payForCalls?: PayForCalls;
  times?: MountTimes;
}

/** A program that does not read keeps its messages in our memory. */
const maxProgramInput = 2 * 1024 ** 2;

/** How old the known pins may be. Another process may accept tools. */
const pinLifeMs = 1_000;

/**
 * Mounts MCP servers of others. Nothing of a client of MCP is loaded without servers. Throws ConfigError if one cannot be
 * paid as it is set.
 */
export const createMounts = ({
  config: { mounts: configs, brand, dataDir, toolSecretKeys: keys, maxToolProcesses: max },
  version,
  payForCalls,
  times = usualTimes,
  ...services
}: MountsOptions): Mounts => {
  const { store, log } = services;
  const clientInfo = { name: brand, version };
  const groups = createProcessGroups(join(dataDir, 'mounted-processes'));
  const payers = openPayers(configs, payForCalls);
  const parts = { ...services, groups, times, clientInfo, payers };
  const vault = createSecretVault(store, keys);
  const signIns = createSignIns(configs, { ...parts, vault, onChange: (owner) => accounts.restart(owner) });
  const accounts = createAccountMounts(configs, {
    // What is listed is that of the operator's own start.
    parts: { ...parts, store: { noteMountedTools: async () => undefined }, onTools: () => undefined },
    vault,
    signIns,
    max,
  });
  const ending = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  let pins: ReadonlyMap<string, string> = new Map();
  let pinsReadAt = -Infinity;
  let list: readonly OfferedTool[] | null = null;
  const listed = configs.map((config) => signIns.withTokens(config));
  const mounts = new Map(
    listed.map((config) => [config.name, createMount(config, { ...parts, onTools: () => (list = null) })]),
  );
  const takeTurn = createTurns(configs, max);
  const mountOf = (owner: Owner) => accounts.mountOf(owner) ?? mounts.get(owner.server);

  const refreshPins = async (): Promise<void> => {
    if (performance.now() - pinsReadAt < pinLifeMs) return;
    const accepted = await store.listAcceptedPins(undefined);
    const found = new Map(accepted.map(({ server, tool, pin }) => [publicName(server, tool), pin]));
    pinsReadAt = performance.now();
    if (found.size === pins.size && [...found].every(([name, pin]) => pins.get(name) === pin)) return;
    pins = found;
    list = null;
  };

  const known = (): readonly OfferedTool[] =>
    (list ??= configs
      .flatMap((config) =>
        [...(mounts.get(config.name)?.tools().values() ?? [])].flatMap((tool) =>
          pins.get(publicName(config.name, tool.name)) === tool.pin ? toOffered(tool, config) : [],
        ),
      )
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)));

  return {
    servers: configs.map(({ name }) => name),
    accountServers: configs.flatMap(({ name, isForConnections }) => (isForConnections ? [name] : [])),
    offered: async () => {
      if (mounts.size === 0) return [];
      await refreshPins();
      return known();
    },
    known,
    takeTurn,
    restMs: (owner) => mountOf(owner)?.restMs() ?? null,
    secrets: accounts,
    signIns,
    call: async ({ tool, pin, ...owner }, input, context) =>
      (await mountOf(owner)?.call({ tool, pin, input }, context)) ?? { kind: 'unsent' },
    states: () => [...mounts].map(([server, { state }]) => ({ server, state: state() })),
    begin: () => {
      running = groups
        .endNoted()
        .catch((error: unknown) => log.error({ err: error }, 'processes of an earlier gateway are left'))
        .then(() => Promise.all([...mounts.values()].map((mount) => mount.run(ending.signal))));
    },
    close: async () => {
      ending.abort();
      await Promise.all([running, accounts.close()]);
    },
  };
};

const openPayers = (
  configs: readonly MountConfig[],
  payForCalls: PayForCalls | undefined,
): ReadonlyMap<string, PayingCaller> =>
  new Map(
    configs.flatMap(({ name, pay }) =>
      pay === null || payForCalls === undefined
        ? []
        : [[name, payForCalls({ upstream: `mcp_servers.${name}`, pay })] as const],
    ),
  );

/**
 * Counts the calls of an account at a server, beside the count of all calls that the server itself keeps.
 * Accounts of strangers cost nothing, so together they get half of a server, and of the processes of accounts.
 */
const createTurns = (configs: readonly MountConfig[], max: number): Mounts['takeTurn'] => {
  const ofAccounts = new Set(
    configs.flatMap(({ name, perAccount }) => (perAccount.length > 0 ? [name] : [])),
  );
  const shares = configs.map(({ name, concurrentCalls }) => [`account at ${name}`, concurrentCalls] as const);
  const turns = createFairShareLimiter<string>({
    total: Infinity,
    perOwner: { ...Object.fromEntries(shares), calls: maxCalls / 2, processes: Math.floor(max / 2) },
  });
  return ({ server, price }, { accountId, isStranger }) => {
    const strangers = ofAccounts.has(server) ? { processes: 'strangers' } : { calls: server };
    const shared = isStranger === true && price === 0n ? strangers : {};
    return turns.tryAcquire({ [`account at ${server}`]: accountId, ...shared });
  };
};

/** A tool as callers see it; none if it has a problem. */
const toOffered = (
  { name: tool, definition: listed, pin }: ListedTool,
  { name: server, target, prices, harmless, tools, timeouts, callsPerMinute }: MountConfig,
): OfferedTool[] => {
  if (listed === null) return [];
  const definition = showTool(listed, tools.get(tool));
  const name = publicName(server, definition.name);
  const unpaidMs = harmless.includes(tool) ? timeouts.totalMs : null;
  return [
    {
      server,
      tool,
      name,
      definition,
      pin,
      unpaidMs,
      callsPerMinute,
      maxInput: target.kind === 'stdio' ? maxProgramInput : Infinity,
      ...(prices.get(tool) ?? freeOfCharge),
    },
  ];
};
