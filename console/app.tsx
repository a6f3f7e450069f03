import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useMemo, useState } from 'preact/hooks';
import { createApi, messageFor, type Api } from './api.ts';
import { Problem } from './parts/parts.tsx';
import { pages, type Area, type Page } from './pages.tsx';
import { Link, usePlace } from './router.tsx';
import { SignIn } from './sign-in.tsx';
import {
  ConsoleProvider,
  useAction,
  useConsole,
  useLive,
  useOtherTabs,
  type ConsoleContext,
  type Session,
} from './use-console.ts';

type Identity = Pick<ConsoleContext, 'base' | 'brand' | 'title'>;

/** Finds the page of a path, and what its last part names. */
const findPage = (path: string): { page: Page; id: string } | null => {
  const exact = pages.find((page) => page.path === path && page.hasId !== true);
  if (exact !== undefined) return { page: exact, id: '' };
  const page = pages.find((one) => one.hasId === true && path.startsWith(`${one.path}/`));
  if (page === undefined) return null;
  try {
    return { page, id: decodeURIComponent(path.slice(page.path.length + 1)) };
  } catch {
    // An address such as jobs/%zz names nothing.
    return null;
  }
};

const isIn = (area: Area, { customer, operator }: Session): boolean =>
  area === 'customer' ? customer : operator !== null;

const areaOf = (path: string): Area => (/^operator(?:\/|$)/.test(path) ? 'operator' : 'customer');

const Navigation = ({ area, path }: { area: Area; path: string }) => {
  const { session, title, api, refresh } = useConsole();
  const other: Area = area === 'customer' ? 'operator' : 'customer';
  const { isBusy, problem, run } = useAction();
  const leave = (): void =>
    void run(async () => {
      await api.open('session', { method: 'DELETE' });
      await refresh();
    });
  return (
    <nav class="side" aria-label="Console">
      <p class="brand">
        {title} <small>{area === 'operator' ? 'operator' : 'console'}</small>
      </p>
      <ul>
        {pages
          .filter((page) => page.area === area && page.title !== undefined)
          .filter(({ changes }) => changes !== true || session.operator === 'write')
          .map((page) => (
            <li key={page.path}>
              <Link
                path={page.path}
                isCurrent={page.path === path || (page.isWhole !== true && path.startsWith(`${page.path}/`))}
              >
                {page.title}
              </Link>
            </li>
          ))}
        {isIn(other, session) && (
          <li>
            <Link path={other === 'operator' ? 'operator' : ''}>
              {other === 'operator' ? 'As operator' : 'As customer'}
            </Link>
          </li>
        )}
        <li>
          <button type="button" class="link" disabled={isBusy} onClick={leave}>
            Sign out
          </button>
        </li>
      </ul>
      <Problem text={problem} />
    </nav>
  );
};

/** An answer that the page does not understand must not leave it empty. */
const Guarded = ({ children }: { children: ComponentChildren }) => {
  const [error] = useErrorBoundary();
  return error === undefined ? <>{children}</> : <Problem text="This page cannot be shown. Reload it." />;
};

const Place = () => {
  const { path } = usePlace();
  const { session, title, base, refresh } = useConsole();
  const found = findPage(path);
  const area = found?.page.area ?? areaOf(path);
  useLive(`${base}/console/${area === 'operator' ? 'admin/' : ''}live`, isIn(area, session), refresh);
  useOtherTabs(area);
  useEffect(() => {
    const list = pages.find((page) => page.path === found?.page.path && page.title !== undefined);
    document.title = `${list?.title ?? 'Console'} · ${title}`;
  }, [found?.page, title]);
  if (!isIn(area, session)) return <SignIn area={area} />;
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Navigation area={area} path={path} />
      <main id="content">
        <Guarded key={path}>
          {found === null ? <h1>There is no such page</h1> : <found.page.View id={found.id} />}
        </Guarded>
      </main>
    </div>
  );
};

/** After this time it asks once more by itself. */
const retryMs = 5_000;

/** The console: asks who is signed in, and shows the page that the address names. */
export const App = (identity: Identity) => (
  <Guarded>
    <Console {...identity} />
  </Guarded>
);

const Console = ({ base, brand, title }: Identity) => {
  const [session, setSession] = useState<Session | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const { api, refresh } = useMemo(() => {
    const api: Api = createApi({ base, brand }, () => void refresh());
    const refresh = async (): Promise<void> => {
      try {
        setSession(await api.read<Session>('session'));
        setProblem(null);
      } catch (error) {
        setProblem(messageFor(error));
      }
    };
    return { api, refresh };
  }, [base, brand]);
  useEffect(() => void refresh(), [refresh]);
  const context = useMemo(
    () => session && { api, session, base, title, brand, refresh },
    [api, session, base, title, brand, refresh],
  );
  const hasFailed = context === null && problem !== null;
  useEffect(() => {
    if (!hasFailed) return;
    const timer = setTimeout(() => void refresh(), retryMs);
    return () => clearTimeout(timer);
  }, [hasFailed, refresh]);
  if (context === null)
    return hasFailed ? (
      <main>
        <Problem text={problem} />
        <button type="button" onClick={() => void refresh()}>
          Try again
        </button>
      </main>
    ) : null;
  return (
    <ConsoleProvider value={context}>
      <Place />
    </ConsoleProvider>
  );
};
