import type { Config } from '../../config/config.ts';
import { createFairShareLimiter } from '../../kit/fair-share-limiter.ts';
import type { ListedTool } from '../../mounts/check-tool.ts';
import { toReason } from '../../mounts/hide-secrets.ts';
import type { MountConfig } from '../../mounts/mount-settings.ts';
import { mayOffer } from '../../mounts/public-name.ts';
import { readTools } from '../../mounts/read-tools.ts';
import { visitServer } from '../../mounts/visit-server.ts';
import { stateOf } from '../../operator/tools.ts';
import { countOf } from '../leads/figures.ts';
import { readStore } from './check-store.ts';
import { ok, problem, warning, type Check, type Findings } from './finding.ts';

const serversAtOnce = 4;
/** How long the start and the list of one server may take, and those of all. The end of a process takes some seconds more. */
const visitMs = 20_000;
const allMs = 100_000;
/** Longer than these, so that each server has its line. */
export const mountsMs = 120_000;
/** Of tools in one line. */
const maxNames = 5;

/** The pins that operators accepted, by tool. */
type Pins = ReadonlyMap<string, string>;

/** Starts each mounted server as a gateway does, compares its tools with what was accepted, and ends it. */
export const checkMounts: Check = async (config, outer) => {
  if (config.mounts.length === 0) return false;
  const signal = AbortSignal.any([outer, AbortSignal.timeout(allMs)]);
  // The check of the store says why it cannot be read.
  const accepted = await readAccepted(config).catch(() => null);
  const limiter = createFairShareLimiter({ total: serversAtOnce, queue: { total: Infinity } });
  return Promise.all(
    config.mounts.map((mount) =>
      limiter
        .run({}, { signal }, async () => judge(mount, await listTools(mount, config, signal), accepted))
        .catch((error: unknown) => toProblem(error, mount)),
    ),
  );
};

const readAccepted = async (config: Config): Promise<ReadonlyMap<string, Pins>> => {
  const text = 'select server, tool, accepted_pin from mounted_tools where accepted_pin is not null';
  const rows = (await readStore(config, (read) => read(text))) ?? [];
  return new Map(
    [...Map.groupBy(rows, ({ server }) => String(server))].map(([server, those]) => [
      server,
      new Map(those.map(({ tool, accepted_pin: pin }) => [String(tool), String(pin)])),
    ]),
  );
};

const listTools = (mount: MountConfig, config: Config, outer: AbortSignal) => {
  const signal = AbortSignal.any([outer, AbortSignal.timeout(visitMs)]);
  return visitServer(mount, { config, signal }, async (server) =>
    readTools(await server.list(signal), mount),
  );
};

const toProblem = (error: unknown, { name, target, perAccount }: MountConfig): Findings => {
  const message = `The mounted MCP server ${name} cannot be used: ${toReason(error, target) || 'it fails'}.`;
  const own =
    target.kind === 'stdio'
      ? perAccount.filter((variable) => !(variable in target.env))
      : target.accountHeaders.flatMap(({ header, variable }) => (header in target.headers ? [] : [variable]));
  if (target.kind === 'http' && target.oauth?.per_account === true)
    return warning(message, 'Accounts sign in to it, and this check does not. See causeway tools list.');
  return problem(
    message,
    own.length === 0
      ? 'Run its command by hand, or try its url, as the user of the gateway; what it writes is in the log of the gateway.'
      : `It takes ${own.join(', ')} from each account. To list its tools it may need values of yours: ${
          target.kind === 'stdio' ? 'name them in env' : 'set them in the environment of the gateway'
        }.`,
  );
};

const judge = (
  mount: MountConfig,
  { found, missing }: Awaited<ReturnType<typeof listTools>>,
  accepted: ReadonlyMap<string, Pins> | null,
): Findings => {
  const { name } = mount;
  const said = `The mounted MCP server ${name} is started and lists ${countOf(found.size, 'tool')}`;
  return [
    accepted === null
      ? ok(`${said}. What of them was accepted cannot be read.`)
      : compare(said, { mount, found, pins: accepted.get(name) ?? new Map() }),
    missing.length > 0 &&
      warning(
        `mcp_servers.${name} names tools or arguments that the server does not have: ${listNames(missing)}.`,
        'Correct these names in causeway.yaml.',
      ),
  ];
};

const compare = (
  said: string,
  { mount, found, pins }: { mount: MountConfig; found: ReadonlyMap<string, ListedTool>; pins: Pins },
): Findings => {
  const by = Map.groupBy(found.values(), ({ name, pin }) =>
    stateOf({ pin, acceptedPin: pins.get(name) ?? null }),
  );
  const namesOf = (state: 'changed' | 'new'): string[] => (by.get(state) ?? []).map(({ name }) => name);
  const gone = [...pins.keys()].filter((tool) => !found.has(tool) && mayOffer(mount, tool));
  const refused = (by.get('refused') ?? []).map(({ name, problem: why }) => `${name} (${why})`);
  const parts = Object.entries({ changed: namesOf('changed'), new: namesOf('new'), gone, refused })
    .filter(([, names]) => names.length > 0)
    .map(([state, names]) => `; ${names.length} ${state}: ${listNames(names)}`);
  const accepted = by.get('accepted')?.length ?? 0;
  const fact = `${said}: ${accepted} accepted${parts.join('')}.`;
  return accepted > 0 && by.get('changed') === undefined && gone.length === 0
    ? ok(fact)
    : warning(
        fact,
        `Callers do not see these tools. Compare them (causeway tools diff ${mount.name}), and accept what is right.`,
      );
};

const listNames = (names: readonly string[]): string =>
  names.length > maxNames
    ? `${names.slice(0, maxNames).join(', ')} and ${names.length - maxNames} more`
    : names.join(', ');
