import type { Config } from '../config/config.ts';
import { callWithin } from '../kit/deadline.ts';
import type { LeadStatus } from '../leads/lead-source.ts';
import type { PlaceState, Sweeps } from '../media/sweeps.ts';
import type { Services } from '../operations/call.ts';
import { StoreError } from '../store/store-error.ts';
import type { Store } from '../store/store.ts';

export interface Readiness {
  ready: boolean;
  /** True if the process is ending. */
  draining: boolean;
  store: StoreState;
  /**
   * `empty`: there are no profiles, so every search finds nobody. `not_on_sale`: there are only fictional profiles,
   * which are not sold for real money. Only `building` makes the gateway not ready.
   */
  search: 'ready' | 'empty' | 'building' | 'not_on_sale' | 'off';
  /** For information. The gateway is ready without it, because text and search do not need it. */
  media: PlaceState;
  payments: { network: string; label: string; ready: boolean }[];
  /** For information, too. */
  mounts: ReturnType<Services['mounts']['states']>;
}

/** `disk_full`: stored data can be read, but no new work is accepted. */
type StoreState = 'ready' | 'disk_full' | 'unavailable';

/** Supervisors wait a second or two for an answer; a frozen store would delay it. */
const probeTimeoutMs = 1_500;
/** A probe writes to the disk, and anybody may ask for readiness. */
const probeEveryMs = 1_000;

/** Returns a function that looks at the gateway for `/health/ready`. */
export const createReadiness = (
  config: Config,
  parts: Pick<Services, 'store' | 'jobs' | 'leads' | 'x402' | 'mounts'> & { sweeps: Sweeps },
): (() => Promise<Readiness>) => {
  const { store, jobs, leads, sweeps, x402, mounts } = parts;
  const probeStore = createStoreProbe(store);
  return async () => {
    const storeState = await probeStore();
    const search = searchState(config, leads.status());
    return {
      ready: storeState === 'ready' && search !== 'building' && !jobs.isDraining(),
      draining: jobs.isDraining(),
      store: storeState,
      search,
      media: sweeps.place(),
      payments: x402.status().map(({ network, label, ready }) => ({ network, label, ready })),
      mounts: mounts.states(),
    };
  };
};

/** Probes the store at most once in `probeEveryMs`, and returns the same answer to everybody who asks meanwhile. */
const createStoreProbe = (store: Store): (() => Promise<StoreState>) => {
  let lastAt = -Infinity;
  let last: Promise<StoreState>;
  return () => {
    const now = performance.now();
    if (now - lastAt >= probeEveryMs) {
      lastAt = now;
      last = callWithin({ call: () => store.probe(), timeoutMs: probeTimeoutMs }).then(
        () => 'ready',
        (error: unknown) =>
          error instanceof StoreError && error.reason === 'full' ? 'disk_full' : 'unavailable',
      );
    }
    return last;
  };
};

export const searchState = (
  { search, x402 }: Config,
  { ready, synthetic, profiles }: LeadStatus,
): Readiness['search'] => {
  if (!search.isOn) return 'off';
  if (synthetic && x402.takesRealMoney) return 'not_on_sale';
  if (!ready) return 'building';
  return profiles === 0 ? 'empty' : 'ready';
};
