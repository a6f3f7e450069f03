import { systemClock } from '../../../src/kit/clock.ts';
import { createLog } from '../../../src/kit/log.ts';
import { createOutbound } from '../../../src/http/create-outbound.ts';
import { createWebhookDispatcher } from '../../../src/jobs/webhooks/webhook-dispatcher.ts';
import { openStoreAt } from '../../store/open-store-at.ts';

/** A process that delivers the webhooks of a store until it is killed. Arguments: engine and location. */
const [kind, location = ''] = process.argv.slice(2);
const store = await openStoreAt(kind === 'postgres' ? 'postgres' : 'sqlite', location);
createWebhookDispatcher({
  store,
  outbound: createOutbound({ allowsLoopback: true, userAgent: 'Causeway' }),
  clock: systemClock,
  log: createLog('info'),
  brand: 'causeway',
}).begin();
setInterval(() => undefined, 60_000);
