import { createRequire } from 'node:module';
import type * as undici from 'undici';

type Undici = Pick<typeof undici, 'Agent' | 'Client' | 'buildConnector'> & {
  redirect: typeof undici.interceptors.redirect;
};

const require = createRequire(import.meta.url);
let loaded: Undici | null = null;

/**
 * Loads the parts of undici that are used. Its index would load all others too: caches, mocks, web sockets, which take
 * 12 MB. The version is pinned, so its files are known.
 */
export const loadUndici = (): Undici => {
  // The types are declared for the index alone.
  const part = (name: string): never => require(`undici/lib/${name}.js`) as never;
  const load = (): Undici => {
    const dispatcher: typeof undici.Dispatcher = part('dispatcher/dispatcher');
    // The index does the same, so that a dispatcher has `request`.
    Object.assign(dispatcher.prototype, part('api/index'));
    return {
      Agent: part('dispatcher/agent'),
      Client: part('dispatcher/client'),
      buildConnector: part('core/connect'),
      redirect: part('interceptor/redirect'),
    };
  };
  return (loaded ??= load());
};
