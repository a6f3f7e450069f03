import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, isJudgement, messageFor, type Api } from './api.ts';

/** As whom the browser is signed in. */
export interface Session {
  customer: boolean;
  /** The role of the operator's key. */
  operator: 'read' | 'write' | null;
  /** Whether wallets have accounts on this gateway. */
  wallets: boolean;
  /** Whether top-ups are sold by card. */
  cards: boolean;
}

export interface ConsoleContext {
  api: Api;
  session: Session;
  /** The path of the gateway, without a slash at its end. */
  base: string;
  /** The name of the service for people, and its brand. */
  title: string;
  brand: string;
  /** Asks again who is signed in. */
  refresh(): Promise<void>;
}

const Context = createContext<ConsoleContext | null>(null);
export const ConsoleProvider = Context.Provider;

export const useConsole = (): ConsoleContext => {
  const found = useContext(Context);
  if (found === null) throw new Error('the console is not set up');
  return found;
};

export interface Loaded<Answer> {
  /** Null until the first answer. */
  data: Answer | null;
  problem: string | null;
  /** True: this gateway has nothing at the address. */
  isMissing: boolean;
}

const nothing = { data: null, problem: null, isMissing: false } as const;

const changed = 'console:changed';

const signedIn = (area: string): string => `console:signed-in:${area}`;

export const tellOtherTabs = (area: string): void =>
  localStorage.setItem(signedIn(area), crypto.randomUUID());

/** Loads the page again when another tab has signed in: its next call would be one of another account. */
export const useOtherTabs = (area: string): void =>
  useEffect(() => {
    const look = ({ key }: StorageEvent): void => {
      if (key === signedIn(area)) location.reload();
    };
    addEventListener('storage', look);
    return () => removeEventListener('storage', look);
  }, [area]);

const reopenMs = 10_000;

/** Hears from the gateway that something has changed, as long as somebody is signed in. `onEnded`: perhaps nobody is any more. */
export const useLive = (address: string, isOn: boolean, onEnded: () => Promise<void>): void =>
  useEffect(() => {
    if (!isOn) return;
    let end = (): void => undefined;
    const open = (): void => {
      const source = new EventSource(address);
      end = () => source.close();
      source.addEventListener('message', () => dispatchEvent(new Event(changed)));
      source.addEventListener('error', () => {
        if (source.readyState !== EventSource.CLOSED) return;
        const timer = setTimeout(open, reopenMs);
        end = () => clearTimeout(timer);
        void onEnded();
      });
    };
    open();
    return () => end();
  }, [address, isOn, onEnded]);

/**
 * Reads an address below /console, and keeps the answer until the next one. `everyMs`: reads it again while the page is
 * visible, and when something has changed, until `isLast` says of an answer that it changes no more. `version`: another one reads it again at once.
 */
export const useLoad = <Answer>(
  path: string,
  {
    everyMs = null,
    version = 0,
    isLast,
  }: { everyMs?: number | null; version?: number; isLast?: (data: Answer) => boolean } = {},
): Loaded<Answer> => {
  const { api } = useConsole();
  const [state, setState] = useState<Loaded<Answer> & { path: string }>({ path, ...nothing });
  useEffect(() => {
    const gone = new AbortController();
    let isLoading = false;
    let isOver = false;
    const load = async (): Promise<void> => {
      // One read at a time: an older answer cannot replace a newer one.
      if (isLoading) return;
      isLoading = true;
      try {
        const data = await api.read<Answer>(path, { signal: gone.signal });
        isOver = isLast?.(data) === true;
        if (!gone.signal.aborted) setState({ ...nothing, path, data });
      } catch (error) {
        if (!gone.signal.aborted)
          setState((before) => ({
            path,
            data: before.path === path ? before.data : null,
            problem: messageFor(error),
            isMissing: error instanceof ApiError && error.status === 404,
          }));
      } finally {
        isLoading = false;
      }
    };
    void load();
    const loadAgain = (): void => {
      if (document.visibilityState === 'visible' && !isOver) void load();
    };
    const timer = everyMs === null ? undefined : setInterval(loadAgain, everyMs);
    if (everyMs !== null) addEventListener(changed, loadAgain, { signal: gone.signal });
    return () => {
      clearInterval(timer);
      gone.abort();
    };
  }, [api, path, everyMs, version]);
  return state.path === path ? state : nothing;
};

/** Runs something that a person asked for, once at a time, and keeps the refusal. */
export const useAction = () => {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const run = async (work: () => Promise<void>): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setProblem(null);
    try {
      await work();
    } catch (error) {
      setProblem(messageFor(error));
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, problem, run };
};

/**
 * An id with which a repeated call changes nothing twice. It is another one once the end of a call is known, which `isEnd`
 * says of an answer, and for another `request`.
 */
export const useCallId = () => {
  const last = useRef({ id: '', request: '' });
  const once = async <Answer>(
    call: (id: string) => Promise<Answer>,
    { isEnd = () => true, request = '' }: { isEnd?: (answer: Answer) => boolean; request?: string } = {},
  ): Promise<Answer> => {
    if (last.current.id === '' || last.current.request !== request)
      last.current = { id: crypto.randomUUID(), request };
    try {
      const answer = await call(last.current.id);
      if (isEnd(answer)) last.current.id = '';
      return answer;
    } catch (error) {
      if (error instanceof ApiError && isJudgement(error.status)) last.current.id = '';
      throw error;
    }
  };
  return { once };
};
