import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { money } from '../format.ts';
import { hasEnded, type JobAnswer } from '../parts/outcome.tsx';
import { JobLink } from '../parts/history.tsx';
import { Problem, readFields } from '../parts/parts.tsx';
import { readEvents } from '../read-events.ts';
import { useAction, useConsole, useLoad } from '../use-console.ts';
import { CodeSamples } from './code-samples.tsx';

interface Message {
  role: 'user' | 'assistant';
  content: string;
  /** The model that made it. */
  model?: string;
}

interface Chunk {
  id: string;
  choices: { delta: { content?: string | null } }[];
  error?: { message: string };
}

/** What the interface takes of a message. */
const toSent = ({ role, content }: Message) => ({ role, content });

const jobOf = (id: string): string => id.replace(/^chatcmpl-/, '');

const Cost = ({ jobId }: { jobId: string }) => {
  const { data } = useLoad<JobAnswer>(`v1/jobs/${jobId}`, { everyMs: 3_000, isLast: hasEnded });
  return (
    <p class="soft">
      Cost: {money(data?.usage.cost_usd)}. Job <JobLink id={jobId} />
    </p>
  );
};

const path = '/v1/chat/completions';

/** A conversation with a model, whose answers arrive piece by piece. */
export const ChatTrial = ({ model }: { model: string }) => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const [messages, setMessages] = useState<readonly Message[]>([]);
  const [jobId, setJobId] = useState<string | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);

  const stream = async (asked: readonly Message[]): Promise<void> => {
    const stopping = new AbortController();
    stop.current = stopping;
    const body = { model, messages: asked.map(toSent), stream: true };
    const answer = await api.open(path.slice(1), { body, signal: stopping.signal });
    let content = '';
    for await (const data of readEvents(answer)) {
      const { id, choices, error } = JSON.parse(data) as Chunk;
      if (error !== undefined) throw new ApiError(answer.status, error.message);
      content += choices[0]?.delta.content ?? '';
      setJobId(jobOf(id));
      setMessages([...asked, { role: 'assistant', content, model }]);
    }
  };

  const send = (event: SubmitEvent): void => {
    const form = event.currentTarget as HTMLFormElement;
    const { text = '' } = readFields(event);
    if (text === '') return;
    const asked = [...messages, { role: 'user', content: text } as const];
    setMessages(asked);
    setJobId(null);
    form.reset();
    void run(() =>
      stream(asked).catch((error: unknown) => {
        if (stop.current?.signal.aborted !== true) throw error;
      }),
    );
  };

  return (
    <>
      <ol class="chat" aria-live="polite" aria-busy={isBusy}>
        {messages.map(({ role, content, model: maker }, index) => (
          <li key={index} class={role}>
            <strong>{maker ?? 'You'}</strong>
            <p>{content}</p>
          </li>
        ))}
      </ol>
      <Problem text={problem} />
      {jobId !== null && !isBusy && <Cost jobId={jobId} />}
      <form class="ask" onSubmit={send}>
        <label class="field">
          <span>Your message</span>
          <textarea name="text" rows={3} required />
        </label>
        <div class="row">
          <button type="submit" class="main" disabled={isBusy}>
            Send
          </button>
          <button type="button" disabled={!isBusy} onClick={() => stop.current?.abort()}>
            Stop
          </button>
          <button type="button" disabled={isBusy} onClick={() => setMessages([])}>
            Begin anew
          </button>
        </div>
      </form>
      <CodeSamples
        path={path}
        method="chat.completions.create"
        body={{
          model,
          messages: messages.length === 0 ? [{ role: 'user', content: 'Hello' }] : messages.map(toSent),
        }}
      />
    </>
  );
};
