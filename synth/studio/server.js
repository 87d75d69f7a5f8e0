// What the page asks its server for. Addresses are relative: the token is a part of the page's own.

async function answered(response) {
  const json = response.headers.get("Content-Type") === "application/json";
  const found = json ? await response.json() : null;
  if (found?.error) throw new Error(found.error);
  if (!response.ok) throw new Error(response.statusText);
  return json ? found : response;
}

function sent(name, body) {
  return fetch(name, { method: "POST", body }).then(answered, () => {
    throw new Error("the studio has ended; start it again");
  });
}

export async function start() {
  return answered(await fetch("start"));
}

export async function ask(name, body) {
  return sent(name, JSON.stringify(body));
}

export async function picture(body) {
  return (await sent("low", JSON.stringify(body))).blob();
}

export async function text(values) {
  return (await sent("text", JSON.stringify({ values }))).text();
}

export async function upload(file) {
  return sent(`photo?name=${encodeURIComponent(file.name)}`, file);
}

export async function normal(number) {
  return (await answered(await fetch(normalAddress(number)))).blob();
}

export function normalAddress(number, small) {
  return `normal?photo=${number}${small ? "&small=1" : ""}`;
}
