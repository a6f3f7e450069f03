import type { ToolSecret } from '../store/store.ts';
import { busyMs, createMount, type CalledTool, type MountOutcome, type MountParts } from './create-mount.ts';
import { headerValue, type MountConfig, type MountTarget } from './mount-settings.ts';
import type { CallContext } from './mounted-server.ts';
import type { SignIns } from './create-sign-ins.ts';
import type { Owner, SecretVault } from './secret-vault.ts';

interface AccountMount extends Owner {
  /** The secrets that it was started with, as they are stored; of a sign-in its id. */
  secrets: string;
  mount: ReturnType<typeof createMount>;
  /** The number of calls under way. */
  calls: number;
  /** When the last one ended, by `performance.now()`. */
  usedAt: number;
  ending: AbortController;
  /** Resolves when its process has ended. */
  ended: Promise<void>;
}

interface AccountMountsParts {
  parts: MountParts;
  vault: SecretVault;
  signIns: SignIns;
  /** The most servers at once. An account has at most a quarter of them. */
  max: number;
}

/** By account and server. Never more than `max`: what is taken out for another one ends before that starts. */
type Running = Map<string, AccountMount>;

export type AccountMounts = ReturnType<typeof createAccountMounts>;

/**
 * Runs mounted servers, or connections to them, with the secrets of one account each: started by a call, at most one for each account and server,
 * and started anew when the secrets are others. The longest idle one makes room.
 */
export const createAccountMounts = (
  configs: readonly MountConfig[],
  { parts, vault, signIns, max }: AccountMountsParts,
) => {
  const running: Running = new Map();
  /** Those that made room, until their processes have ended. */
  const evicted = new Set<AccountMount>();
  let isClosed = false;
  const byName = new Map(configs.map((config) => [config.name, config]));
  const namesOf = (server: string): readonly string[] => byName.get(server)?.perAccount ?? [];

  /** Finds or starts the server of an account, for a call. Null: there is no room, or a secret is not set. */
  const take = async (owner: Owner): Promise<AccountMount | null> => {
    const names = namesOf(owner.server);
    const sealed = await signIns.list(owner, names);
    const config = byName.get(owner.server);
    if (isClosed || config === undefined || sealed.length < names.length) return null;
    const secrets = signIns.identify(owner, sealed);
    const found = running.get(keyOf(owner));
    if (found?.ending.signal.aborted === false && found.secrets === secrets) {
      found.calls += 1;
      return found;
    }
    const leaving = found === undefined ? findRoom(running, max, owner) : [found];
    if (leaving === null) return null;
    const started: AccountMount = {
      ...owner,
      secrets,
      mount: open(owner, config, { parts, vault, signIns, sealed }),
      calls: 1,
      usedAt: performance.now(),
      ending: new AbortController(),
      ended: Promise.resolve(),
    };
    replace(leaving, started, { running, evicted, idleMs: parts.times.idleMs });
    return started;
  };

  const call = async (owner: Owner, called: CalledTool, context: CallContext): Promise<MountOutcome> => {
    const used = await take(owner).catch((error: unknown) => {
      parts.log.error({ err: error, ...owner }, 'the secrets of an account could not be read');
      return null;
    });
    return used === null ? { kind: 'unsent' } : callTaken(used, called, context);
  };

  return {
    namesOf,
    /** Ends what runs with former secrets or a former sign-in of an account. The next call starts it anew. */
    restart: (owner: Owner): void => endOne(running, owner),
    /** Returns the names of the secrets that an account has not set. Rejects if the store fails. */
    lacks: async (owner: Owner): Promise<string[]> => {
      const names = namesOf(owner.server);
      const set = names.length === 0 ? [] : await signIns.list(owner, names);
      return names.filter((name) => set.every((secret) => secret.name !== name));
    },
    /** Returns whether a value can be a secret for a server. In a header it is printable ASCII. */
    takes: (server: string, value: string): boolean =>
      byName.get(server)?.target.kind !== 'http' || headerValue.test(value),
    /** Sets secrets of an account, or (null) removes them, and ends what runs with the former ones. */
    set: async (owner: Owner, values: Readonly<Record<string, string | null>>): Promise<void> => {
      for (const [name, value] of Object.entries(values)) await vault.set({ ...owner, name }, value);
      endOne(running, owner);
    },
    /** Returns the mount that an account calls; null: that of all. */
    mountOf: (owner: Owner): Pick<AccountMount['mount'], 'restMs' | 'call'> | null =>
      namesOf(owner.server).length === 0
        ? null
        : {
            restMs: () => findRest(running, max, owner),
            call: (called, context) => call(owner, called, context),
          },
    /** Ends all, and starts none from now on; resolves when their processes have ended. */
    close: () => {
      isClosed = true;
      return Promise.all([...running.values()].map(end));
    },
  };
};

const callTaken = async (
  used: AccountMount,
  called: CalledTool,
  context: CallContext,
): Promise<MountOutcome> => {
  try {
    await used.mount.opened(context.signal);
    return await used.mount.call(called, context);
  } finally {
    used.calls -= 1;
    used.usedAt = performance.now();
  }
};

const keyOf = ({ accountId, server }: Owner): string => `${server} ${accountId}`;

const endOne = (running: Running, owner: Owner): void => running.get(keyOf(owner))?.ending.abort();

const end = ({ ending, ended }: AccountMount): Promise<void> => {
  ending.abort();
  return ended;
};

/** Returns when an account can call its server, in milliseconds; null: now. */
const findRest = (running: Running, max: number, owner: Owner): number | null => {
  const found = running.get(keyOf(owner));
  // One that is starting is waited for.
  if (found?.ending.signal.aborted === false) return found.mount.restMs() || null;
  return found === undefined && findRoom(running, max, owner) === null ? busyMs : null;
};

/** Returns what has to end before one more starts: nothing, or the longest idle one. Null: all are busy. */
const findRoom = (running: Running, max: number, { accountId }: Owner): AccountMount[] | null => {
  const all = [...running.values()];
  const own = all.filter((one) => one.accountId === accountId);
  const isShareTaken = own.length >= Math.max(1, Math.floor(max / 4));
  if (!isShareTaken && all.length < max) return [];
  const idle = (isShareTaken ? own : all).filter(({ calls }) => calls === 0);
  return idle.length === 0 ? null : idle.toSorted((a, b) => a.usedAt - b.usedAt).slice(0, 1);
};

const open = (
  owner: Owner,
  { target, ...config }: MountConfig,
  { parts, vault, signIns, sealed }: Omit<AccountMountsParts, 'max'> & { sealed: readonly ToolSecret[] },
): AccountMount['mount'] => {
  const own = Object.fromEntries(sealed.map((secret) => [secret.name, vault.open(owner, secret)]));
  return createMount(signIns.withTokens({ ...config, target: withSecrets(target, own) }, owner.accountId), {
    ...parts,
    log: parts.log.child({ account: owner.accountId }),
  });
};

/** Gives secrets to a server: in its environment, or in the headers of its requests in place of the operator's. */
const withSecrets = (target: MountTarget, own: Readonly<Record<string, string>>): MountTarget => {
  if (target.kind === 'stdio') return { ...target, env: { ...target.env, ...own } };
  const headers = target.accountHeaders.map(({ header, prefix, variable }) => [
    header,
    prefix + (own[variable] ?? ''),
  ]);
  return { ...target, headers: { ...target.headers, ...Object.fromEntries(headers) } };
};

/** Puts one in the place of those that leave. It starts when they, and any former one of its account, have ended. */
const replace = (
  leaving: readonly AccountMount[],
  started: AccountMount,
  { running, evicted, idleMs }: { running: Running; evicted: Set<AccountMount>; idleMs: number },
): void => {
  for (const one of leaving) {
    running.delete(keyOf(one));
    evicted.add(one);
    void one.ended.then(() => evicted.delete(one));
  }
  running.set(keyOf(started), started);
  const former = [...evicted].filter((one) => leaving.includes(one) || keyOf(one) === keyOf(started));
  started.ended = run(started, { leaving: former, running, idleMs });
};

const run = async (
  one: AccountMount,
  { leaving, running, idleMs }: { leaving: readonly AccountMount[]; running: Running; idleMs: number },
): Promise<void> => {
  await Promise.all(leaving.map(end));
  const isIdle = (): boolean => one.calls === 0 && performance.now() - one.usedAt >= idleMs;
  const watch = setInterval(() => isIdle() && one.ending.abort(), idleMs).unref();
  await one.mount.run(one.ending.signal);
  clearInterval(watch);
  if (running.get(keyOf(one)) === one) running.delete(keyOf(one));
};
